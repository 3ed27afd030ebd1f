#include "faults.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace holdfast::core_tests {

std::atomic<int> threads_left = -1;
std::atomic<std::chrono::milliseconds> disk_stall = std::chrono::milliseconds(0);

namespace {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool may_start_thread() {
  int left = threads_left.load();
  while (left > 0 && !threads_left.compare_exchange_weak(left, left - 1)) {
  }
  return left != 0;
}

}  // namespace
}  // namespace holdfast::core_tests

using holdfast::core_tests::disk_stall;

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                   void* argument) {
  static auto* const real = holdfast::core_tests::next<decltype(pthread_create)>("pthread_create");
  if (!holdfast::core_tests::may_start_thread()) return EAGAIN;
  return real(thread, attributes, routine, argument);
}

int fdatasync(int descriptor) {
  static auto* const real = holdfast::core_tests::next<decltype(fdatasync)>("fdatasync");
  std::this_thread::sleep_for(disk_stall.load());
  return real(descriptor);
}

int fsync(int descriptor) {
  static auto* const real = holdfast::core_tests::next<decltype(fsync)>("fsync");
  std::this_thread::sleep_for(disk_stall.load());
  return real(descriptor);
}
}
