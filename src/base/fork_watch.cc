#include "base/fork_watch.h"

#include <pthread.h>

namespace holdfast::internal {

namespace {
std::atomic<std::uint64_t> forks{0};
}

std::uint64_t ForkWatch::generation() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace holdfast::internal
