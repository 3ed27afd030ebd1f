#include "host.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

namespace holdfast::test {

namespace {

std::atomic<int> threads_allowed = -1;  // no limit

struct Names {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::vector<std::string>> addresses;
  bool hangs = false;
  int hanging = 0;
};

Names& names() {
  static Names& all = *new Names;
  return all;
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// As one list, which the real freeaddrinfo() can free: each entry is made by the real getaddrinfo().
int look_up(const std::vector<std::string>& addresses, const char* service, const addrinfo* hints,
            addrinfo** found, decltype(&getaddrinfo) ask) {
  *found = nullptr;
  addrinfo** end = found;
  for (const std::string& address : addresses) {
    if (const int error = ask(address.c_str(), service, hints, end)) return error;
    while (*end) end = &(*end)->ai_next;
  }
  return *found ? 0 : EAI_NONAME;
}

}  // namespace

FewThreads::FewThreads(int allowed) { threads_allowed = allowed; }
FewThreads::~FewThreads() { threads_allowed = -1; }

FewDescriptors::FewDescriptors(int allowed) {
  getrlimit(RLIMIT_NOFILE, &before_);
  // The limit is on numbers, not on how many there are: fill the gaps first.
  int highest = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    highest = std::max(highest, std::stoi(entry.path().filename()));
  }
  rlimit few = before_;
  few.rlim_cur = static_cast<rlim_t>(highest + 1 + allowed);
  setrlimit(RLIMIT_NOFILE, &few);
  for (int filler; (filler = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) {
    fillers_.push_back(filler);
  }
  for (int i = 0; i < allowed && !fillers_.empty(); ++i) {
    close(fillers_.back());
    fillers_.pop_back();
  }
}

FewDescriptors::~FewDescriptors() {
  for (const int filler : fillers_) close(filler);
  setrlimit(RLIMIT_NOFILE, &before_);
}

void set_addresses(const std::string& name, std::vector<std::string> addresses) {
  const std::lock_guard lock(names().mutex);
  names().addresses[name] = std::move(addresses);
}

HangingResolver::HangingResolver() {
  const std::lock_guard lock(names().mutex);
  names().hangs = true;
}

HangingResolver::~HangingResolver() {
  std::unique_lock lock(names().mutex);
  names().hangs = false;
  names().changed.notify_all();
  names().changed.wait(lock, [] { return names().hanging == 0; });
}

int HangingResolver::hanging() {
  const std::lock_guard lock(names().mutex);
  return names().hanging;
}

}  // namespace holdfast::test

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) {
  using holdfast::test::threads_allowed;
  for (int left = threads_allowed; left >= 0;) {
    if (left == 0) return EAGAIN;
    if (threads_allowed.compare_exchange_weak(left, left - 1)) break;
  }
  static const auto create = holdfast::test::real<decltype(&pthread_create)>("pthread_create");
  return create(thread, attributes, function, argument);
}

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  static const auto ask = holdfast::test::real<decltype(&getaddrinfo)>("getaddrinfo");
  const bool numeric = hints && (hints->ai_flags & AI_NUMERICHOST) != 0;
  const std::string name = node ? node : "";
  if (numeric || !name.ends_with(".guest.test")) return ask(node, service, hints, found);
  holdfast::test::Names& names = holdfast::test::names();
  std::unique_lock lock(names.mutex);
  if (name == "hangs.guest.test") {
    ++names.hanging;
    names.changed.wait(lock, [&] { return !names.hangs; });
    --names.hanging;
    names.changed.notify_all();
    return EAI_NONAME;
  }
  return holdfast::test::look_up(names.addresses[name], service, hints, found, ask);
}
