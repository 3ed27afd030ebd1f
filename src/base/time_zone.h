// TimeZone: the offset from UTC of local time at a place, at any moment, from the system's time zone database (tzfile(5),
// RFC 9636). localtime() knows one zone per process only; the zone of a job is another matter than that of its machine.
//
// Thread safety: immutable once made.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::internal {

using UtcSeconds = std::chrono::sys_seconds;
using LocalSeconds = std::chrono::local_seconds;

// When summer time begins or ends, as a rule for every year: "M3.5.0/2", the last Sunday of March at 2:00.
struct YearlyRule {
  enum class Kind { month_week_day, day_of_365, day_of_year };
  Kind kind = Kind::month_week_day;
  int month = 0, week = 0, day = 0;
  std::chrono::seconds at{};

  LocalSeconds in(std::chrono::year year) const;
};

// Offsets by rules, as the variable TZ and the end of a zone's file have them: "CET-1CEST,M3.5.0,M10.5.0/3".
class ZoneRules {
 public:
  static std::optional<ZoneRules> parse(std::string_view text);
  std::chrono::seconds offset_at(UtcSeconds moment) const;

 private:
  std::chrono::seconds standard_{};
  std::chrono::seconds summer_{};
  bool has_summer_ = false;
  YearlyRule begin_, end_;
};

class TimeZone {
 public:
  // "Europe/Berlin"; "UTC" needs no database. Empty: the system's own, by TZ, /etc/localtime and /etc/timezone.
  static Result<TimeZone> find(std::string_view name);
  // The bytes of a zone's file.
  static Result<TimeZone> read(std::string name, std::string_view file);

  const std::string& name() const { return name_; }
  std::chrono::seconds offset_at(UtcSeconds moment) const;
  LocalSeconds to_local(UtcSeconds moment) const;
  // The first moment at which clocks there show this or, if they skip it, the one at which they skip it.
  UtcSeconds to_utc(LocalSeconds local) const;

 private:
  explicit TimeZone(std::string name) : name_(std::move(name)) {}

  std::string name_;
  std::vector<std::int64_t> changes_;          // moments, ascending
  std::vector<std::chrono::seconds> offsets_;  // from each change on
  std::chrono::seconds first_{};               // before the first change
  std::optional<ZoneRules> rules_;             // after the last change
};

}  // namespace holdfast::internal
