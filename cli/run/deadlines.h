// When the command must be asked to end, and when it must be gone. Pure arithmetic.
//
//   ──┬───────────────────┬──────────────────┬──────────┬───►
//   renewal            term_at            kill_at    valid_until: somebody else may hold it
//                      SIGTERM            SIGKILL
//                      (lost() fires)
#pragma once

#include <algorithm>
#include <chrono>

#include "holdfast/time.h"

namespace holdfast::cli {

struct Deadlines {
  BootTime term_at;
  BootTime kill_at;
};

// The time between SIGKILL and the end of validity, in which the processes die.
constexpr Duration kill_margin(Duration warn_before) {
  return std::min<Duration>(warn_before / 2, std::chrono::milliseconds(500));
}

constexpr Deadlines deadlines_of(BootTime valid_until, Duration warn_before) {
  return {valid_until - warn_before, valid_until - kill_margin(warn_before)};
}

// When the engine says that the lock is gone already, somebody else may hold it at this moment:
// the command gets no longer than this to end by itself.
inline constexpr Duration kLostGrace = std::chrono::seconds(1);

}  // namespace holdfast::cli
