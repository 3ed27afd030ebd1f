// An engine that throws has failed, and no more than that: renewals run in the background, where an
// exception would end the process. The outcome of what it was asked is unknown.
#pragma once

#include <span>
#include <vector>

#include "holdfast/async.h"
#include "holdfast/engine.h"

namespace holdfast::internal {

inline Task<std::vector<Result<Grant>>> contained_renewal(Engine& engine,
                                                          std::span<const Hold> holds,
                                                          Deadline deadline) {
  try {
    co_return co_await engine.renew(holds, deadline);
  } catch (...) {
    co_return std::vector<Result<Grant>>(holds.size(), current_failure());
  }
}

}  // namespace holdfast::internal
