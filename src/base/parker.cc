#include "base/parker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/require.h"

namespace holdfast::internal {

namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), operation | FUTEX_PRIVATE_FLAG,
                 value, nullptr, nullptr, 0);
}

}  // namespace

std::uint32_t Parker::park() {
  for (;;) {
    const std::uint32_t reason = word_.load(std::memory_order_acquire);
    if (reason != 0) return reason;
    futex(&word_, FUTEX_WAIT, 0);
  }
}

void Parker::unpark(std::uint32_t reason) {
  HOLDFAST_REQUIRE(reason > 0);
  std::uint32_t seen = word_.load(std::memory_order_relaxed);
  while (seen < reason && !word_.compare_exchange_weak(seen, reason, std::memory_order_release)) {
  }
  // The waiter may have returned and destroyed this parker by now. Then the call wakes nobody, or an
  // unrelated waiter on a reused address, which checks its word and sleeps on.
  futex(&word_, FUTEX_WAKE, 1);
}

}  // namespace holdfast::internal
