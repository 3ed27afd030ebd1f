#include "wire/child_sockets.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <set>

namespace holdfast::internal {

namespace {

struct List {
  std::mutex mutex;
  std::set<int> descriptors;
};

// Never destroyed: connections may end after static objects do.
List& list() {
  static List& the_list = *new List;
  return the_list;
}

void close_all_in_child() {
  // Nothing but what is allowed between fork() and exec(): the memory stays as it is.
  for (const int descriptor : list().descriptors) ::close(descriptor);
  list().mutex.unlock();
}

}  // namespace

ClosedInChild::ClosedInChild(int descriptor) : descriptor_(descriptor) {
  static const int registered = pthread_atfork([] { list().mutex.lock(); },
                                               [] { list().mutex.unlock(); }, close_all_in_child);
  static_cast<void>(registered);
  const std::lock_guard lock(list().mutex);
  list().descriptors.insert(descriptor);
}

ClosedInChild::~ClosedInChild() {
  const std::lock_guard lock(list().mutex);
  list().descriptors.erase(descriptor_);
}

}  // namespace holdfast::internal
