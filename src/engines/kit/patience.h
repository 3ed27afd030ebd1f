// Patience: how long a waiter goes on while no server answers. Waiters survive a server restart.
#pragma once

#include <algorithm>

#include "base/failures.h"
#include "holdfast/time.h"

namespace holdfast::internal {

inline constexpr Duration kWaiterPatience = std::chrono::seconds(30);

class Patience {
 public:
  explicit Patience(BootTime now) : last_answer_(now) {}

  void answered(BootTime now) { last_answer_ = now; }
  // Whether a waiter goes on after this failure. `at_least`: what its place in the queue outlasts in any case.
  bool covers(Code failure, BootTime now, Duration at_least = Duration::zero()) const {
    return may_pass(failure) && now - last_answer_ <= std::max(kWaiterPatience, at_least);
  }

 private:
  BootTime last_answer_;
};

}  // namespace holdfast::internal
