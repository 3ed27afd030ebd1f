// Period: how often something is to be done: once per day, per hour, per week.
//
//   daily("Europe/Berlin", 3h)   from 03:00 to 03:00 there, which is 23 or 25 hours when clocks change
//   every(1h)                    sliding: an hour from the last time it was begun
//
//   aligned  boundaries are the same for everybody. This is what a job needs that is to run each night: two machines
//            that ask at 03:00:00 and 03:00:02 ask for the same period
//   sliding  counted from the last run. Asked at the same time each day, every(1d) would skip a day whenever it is
//            asked a moment earlier than the day before; so it is for "not more often than", no schedule
//
// Local time comes from the system's time zone database, not from the environment. A boundary that clocks skip is the
// moment at which they skip it; of one that comes twice, the first counts.
//
// Thread safety: a Period is an immutable value.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "holdfast/export.h"
#include "holdfast/result.h"
#include "holdfast/time.h"

namespace holdfast {

struct PeriodSpan {
  WallTime start;
  WallTime end;  // not part of it
  friend bool operator==(const PeriodSpan&, const PeriodSpan&) = default;
};

class HOLDFAST_API Period {
 public:
  // Words of the command line, for parse().
  struct Text {
    std::string_view length = {};  // "1d": a whole number and s, m, h, d, w or mo
    std::string_view at = {};      // "03:00" or "03:00:30"; empty: midnight
    std::string_view zone = {};    // "Europe/Berlin"; empty: the system's own
    bool sliding = false;
  };
  static Result<Period> parse(const Text& text);

  // The period of a moment. Of a sliding one: the span that would begin then.
  PeriodSpan span_at(WallTime moment) const;
  // A run that was begun at this moment or later (sliding: later) keeps another from being due at `now`.
  WallTime counts_from(WallTime now) const;

  bool sliding() const { return unit_ == Unit::sliding; }
  // The shortest that one can be: a day may have 23 hours.
  Duration shortest() const;
  // So long before its end nobody begins a run in an aligned period: whoever asks then, because of a clock that is a
  // little ahead, means the next one and waits for it. A minute at most; zero if sliding.
  Duration lead() const;
  // In one form for everybody: "1d at 03:00 in Europe/Berlin".
  const std::string& text() const { return text_; }

 private:
  friend HOLDFAST_API Period every(Duration length);
  enum class Unit { sliding, part_of_day, days, months };
  struct Zone;  // of local time

  Period() = default;
  Result<void> align(const Text& text);
  WallTime boundary(std::int64_t index) const;
  std::int64_t index_near(WallTime moment) const;
  PeriodSpan whole_span_at(WallTime moment) const;

  Unit unit_ = Unit::sliding;
  Duration length_{};       // sliding, part_of_day
  std::int64_t count_ = 1;  // days, months
  std::chrono::seconds at_{};
  std::shared_ptr<const Zone> zone_;
  std::string text_;
};

// All throw LockError (invalid_argument, misconfigured) for what is no period or no zone. An empty zone is the system's.
HOLDFAST_API Period every(Duration length);  // sliding, in whole milliseconds
HOLDFAST_API Period hourly();                // by UTC
HOLDFAST_API Period daily(std::string_view zone = {}, std::chrono::seconds at = {});
HOLDFAST_API Period weekly(std::string_view zone = {},
                           std::chrono::seconds at = {});  // from Monday
HOLDFAST_API Period monthly(std::string_view zone = {},
                            std::chrono::seconds at = {});  // from the first

}  // namespace holdfast
