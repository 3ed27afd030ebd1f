// When a waiter looks because the holder's time is over. Waiters look one after another, 3 ms apart, in the order
// of the queue: the first of them usually takes the lock, or serves all.
#pragma once

#include <algorithm>

#include "holdfast/result.h"
#include "holdfast/time.h"

namespace holdfast::internal {

inline constexpr Duration kLookStagger = std::chrono::milliseconds(3);

// BootTime::max() if nobody knows when the holder's time is over.
inline BootTime look_after_expiry(const Busy& busy, BootTime now) {
  if (!busy.expires_in) return BootTime::max();
  const auto turn = static_cast<Duration::rep>(std::min<std::uint64_t>(busy.rank, 1000)) + 1;
  return now + *busy.expires_in + turn * kLookStagger;
}

}  // namespace holdfast::internal
