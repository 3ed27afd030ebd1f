// Eagerness: is it worth looking for an answer a few times before one sleeps until it comes? To be
// woken costs more than a server close by needs to answer; a server far away is not worth a look. Pure.
#pragma once

#include <algorithm>

namespace holdfast::internal {

class Eagerness {
 public:
  // Asked before every sleep.
  bool worth_a_look() {
    if (to_skip_ == 0) return true;
    --to_skip_;
    return false;
  }
  // An answer came while we looked.
  void came() { misses_ = 0; }
  // None came: each time in a row, twice as many sleeps go by before we look again.
  void came_not() {
    to_skip_ = 1 << misses_;
    misses_ = std::min(misses_ + 1, kMostMisses);
  }

 private:
  static constexpr int kMostMisses = 10;
  int misses_ = 0;  // in a row
  int to_skip_ = 0;
};

}  // namespace holdfast::internal
