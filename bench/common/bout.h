// Bout: workers that contend for one lock for a while, and what that says about hand-offs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "pass.h"
#include "samples.h"
#include "worker.h"

namespace holdfast::bench {

struct Bout {
  std::string name;  // of the lock
  int threads = 1;   // of each worker
  int hold_us = 0;
  int pause_us = 0;
  Seconds warm_up{0};  // before anything counts
  Seconds span{1};
};

// Counts (commands, events) while the function that it is given runs.
using CountDuring = std::function<double(const std::function<void()>&)>;
// From a number that grows, such as a server's own statistics.
CountDuring difference_of(std::function<double()> counter);

struct BoutOutcome {
  HandOffs hand_offs;
  // Of what was counted, in a time of its own: a server that is watched is slower.
  std::optional<double> counted_each = {};
};

// Nothing if a worker does not know how to contend. Throws if one fails, or two held the lock at once.
std::optional<BoutOutcome> play(std::span<Worker> workers, const Bout& bout,
                                const CountDuring& count = {});

}  // namespace holdfast::bench
