// Eagerness: is it worth looking for an answer a few times before one sleeps until it comes? To be
// woken costs more than a server close by needs to answer; a server far away is not worth a look, and
// neither is one close by when others want our processor: who looks lets them run, and is back after
// their time slices of milliseconds, where a sleeper is woken at once. Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include "holdfast/time.h"

namespace holdfast::internal {

class Eagerness {
 public:
  // Asked before every sleep.
  bool worth_a_look() {
    if (to_skip_ == 0) return true;
    --to_skip_;
    return false;
  }
  // An answer came while we looked for so long.
  void came(Duration took) {
    if (took > kLostProcessor) return came_not();
    misses_ = 0;
  }
  // None came: each time in a row, twice as many sleeps go by before we look again.
  void came_not() {
    to_skip_ = 1 << misses_;
    misses_ = std::min(misses_ + 1, kMostMisses);
  }

 private:
  static constexpr int kMostMisses = 10;
  // More than a server close by needs, less than a time slice.
  static constexpr Duration kLostProcessor = std::chrono::microseconds(500);
  int misses_ = 0;  // in a row
  int to_skip_ = 0;
};

}  // namespace holdfast::internal
