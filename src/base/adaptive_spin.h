// AdaptiveSpin: decides whether to poll for an answer a few times before going to sleep. A wake-up costs
// more than a nearby server needs to answer. Polling does not pay for a distant server, nor where other
// threads compete for the processor: the scheduler then runs them for time slices of milliseconds, while a
// sleeping thread is woken at once. Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include "holdfast/time.h"

namespace holdfast::internal {

class AdaptiveSpin {
 public:
  // Ask before every sleep.
  bool should_spin() {
    if (to_skip_ == 0) return true;
    --to_skip_;
    return false;
  }
  // An answer came after polling for this long.
  void hit(Duration took = {}) {
    if (took > kLostProcessor) return missed();
    misses_ = 0;
  }
  // No answer came. Each miss in a row doubles the number of sleeps before the next poll.
  void missed() {
    to_skip_ = 1 << misses_;
    misses_ = std::min(misses_ + 1, kMaxMisses);
  }

 private:
  static constexpr int kMaxMisses = 10;
  // Longer than a nearby server needs, shorter than a time slice.
  static constexpr Duration kLostProcessor = std::chrono::microseconds(500);
  int misses_ = 0;  // in a row
  int to_skip_ = 0;
};

}  // namespace holdfast::internal
