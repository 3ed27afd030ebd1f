// Time as a lock needs it. Validity is counted on CLOCK_BOOTTIME: it never jumps when an
// administrator or NTP sets the wall clock, and it goes on while the machine is suspended, so a
// lease that ran out during the night is seen as lost when the lid opens.
#pragma once

#include <chrono>
#include <optional>

#include "holdfast/export.h"

namespace holdfast {

using Duration = std::chrono::nanoseconds;

// A standard Clock over CLOCK_BOOTTIME.
struct HOLDFAST_API BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};

using BootTime = BootClock::time_point;
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

// The one moment by which a whole call must be over. Passed down, never restarted per step.
class Deadline {
 public:
  static constexpr Deadline never() { return Deadline(); }
  static constexpr Deadline at(BootTime moment) { return Deadline(moment); }

  bool is_never() const { return !moment_.has_value(); }
  // REQUIRES: !is_never() (std::bad_optional_access).
  BootTime moment() const { return moment_.value(); }
  bool passed(BootTime now) const { return moment_ && now >= *moment_; }
  // The earlier of the two.
  Deadline sooner(BootTime other) const {
    return Deadline(moment_ && *moment_ < other ? *moment_ : other);
  }
  // The later of the two.
  Deadline later(BootTime other) const {
    return Deadline(!moment_ || *moment_ > other ? moment_ : other);
  }

 private:
  constexpr Deadline() = default;
  explicit constexpr Deadline(std::optional<BootTime> moment) : moment_(moment) {}

  std::optional<BootTime> moment_;
};

}  // namespace holdfast
