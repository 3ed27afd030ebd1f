// JobStore: the record of one job in its engine, asked for until there is an answer.
//
// Thread safety: inside the loop of one client.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "holdfast/once.h"
#include "lease/locker.h"
#include "lease/records.h"

namespace holdfast::internal {

// A reading of the time: by the engine's clock where it has one.
struct ClockReading {
  WallTime now{};
  BootTime read_at;                    // the moment of `now`
  std::optional<Duration> difference;  // engine minus ours; none: ours decides
  Duration uncertain{};                // half of the way there and back
};

class JobStore {
 public:
  JobStore(Locker& locker, const Name& name) : locker_(locker), name_(name) {}

  // Each asks until there is an answer, at most until `give_up` (one request is made in any case) or `stop`.
  Task<Result<ClockReading>> read_clock(Deadline give_up, std::stop_token stop);
  Task<Result<std::optional<std::string>>> read(Deadline give_up, std::stop_token stop);
  Task<Result<bool>> swap(std::optional<std::string> expected, std::optional<std::string> value,
                          Deadline give_up, std::stop_token stop);

 private:
  // False: there is nothing to be hoped from another attempt, or no time for one.
  Task<bool> pause_before_next(Code why, Duration& pause, Deadline give_up, std::stop_token stop);
  Deadline limit(Deadline give_up) const;

  Locker& locker_;
  const Name& name_;
};

}  // namespace holdfast::internal
