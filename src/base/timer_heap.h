// TimerHeap: armed timers, earliest first; equal moments in the order of arming, so that a
// simulation is deterministic. O(log n) to arm and to disarm, no allocation per timer beyond the
// heap's own array. Not thread safe.
#pragma once

#include <vector>

#include "base/require.h"
#include "holdfast/runtime.h"

namespace holdfast {

class TimerHeap {
 public:
  bool empty() const { return heap_.empty(); }
  // REQUIRES: !empty().
  BootTime earliest() const {
    HOLDFAST_REQUIRE(!empty());
    return heap_.front()->at_;
  }

  // Arms the timer, or moves it if it is armed.
  void arm(Timer& timer, BootTime at);
  void disarm(Timer& timer);
  // The earliest timer if its moment is not after `now`, disarmed; else null.
  Timer* pop_due(BootTime now);

 private:
  static bool before(const Timer& a, const Timer& b) {
    return a.at_ != b.at_ ? a.at_ < b.at_ : a.order_ < b.order_;
  }
  void place(Timer* timer, std::size_t index) {
    heap_[index] = timer;
    timer->index_ = index;
  }
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);

  std::vector<Timer*> heap_;
  std::uint64_t next_order_ = 0;
};

}  // namespace holdfast
