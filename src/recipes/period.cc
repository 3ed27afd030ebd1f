#include "holdfast/period.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include "base/time_zone.h"
#include "holdfast/text.h"

namespace holdfast {

using internal::LocalSeconds;
using internal::TimeZone;
using internal::UtcSeconds;

// Hides the library's own class from its users.
struct Period::Zone {
  TimeZone zone;
};

namespace {

using namespace std::chrono;  // NOLINT(google-build-using-namespace): calendar

constexpr seconds kDay = hours(24);
// Weeks begin with Monday: days are counted from one.
constexpr local_days kFirstMonday{year(1970) / January / 5};

Failure invalid(const std::string& what, std::string_view text, const std::string& why) {
  return Failure(Code::invalid_argument, what + " '" + printable(text, 60) + "' " + why);
}

std::int64_t floor_div(std::int64_t value, std::int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

struct Length {
  std::int64_t count = 0;
  std::string_view unit;
};

std::optional<Length> parse_length(std::string_view text) {
  Length length;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, length.count);
  length.unit = {rest, static_cast<std::size_t>(end - rest)};
  constexpr std::int64_t kMost = 100'000;
  if (error != std::errc() || length.count < 1 || length.count > kMost) return std::nullopt;
  return length;
}

std::optional<milliseconds> unit_of(std::string_view unit) {
  if (unit == "ms") return milliseconds(1);
  if (unit == "s") return seconds(1);
  if (unit == "m") return minutes(1);
  if (unit == "h") return hours(1);
  if (unit == "d") return kDay;
  if (unit == "w") return 7 * kDay;
  return std::nullopt;
}

// "03:00" or "03:00:30".
std::optional<seconds> parse_clock(std::string_view text) {
  if (text.size() != 5 && text.size() != 8) return std::nullopt;
  int parts[3] = {0, 0, 0};
  for (std::size_t i = 0; i * 3 < text.size(); ++i) {
    const char* const first = text.data() + i * 3;
    const auto [rest, error] = std::from_chars(first, first + 2, parts[i]);
    if (error != std::errc() || rest != first + 2 || *first == '-') return std::nullopt;
    if (i * 3 + 2 < text.size() && text[i * 3 + 2] != ':') return std::nullopt;
  }
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return std::nullopt;
  return hours(parts[0]) + minutes(parts[1]) + seconds(parts[2]);
}

std::string clock_text(seconds at) {
  char text[16];
  const hh_mm_ss clock(at);
  std::snprintf(text, sizeof text, clock.seconds().count() == 0 ? "%02d:%02d" : "%02d:%02d:%02d",
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

// In the largest unit that it is a whole number of.
std::string length_text(milliseconds span) {
  constexpr std::pair<milliseconds, const char*> kUnits[] = {
      {7 * kDay, "w"}, {kDay, "d"}, {hours(1), "h"}, {minutes(1), "m"}, {seconds(1), "s"}};
  for (const auto& [unit, name] : kUnits) {
    if (span % unit == milliseconds(0)) return std::to_string(span / unit) + name;
  }
  return std::to_string(span.count()) + "ms";
}

WallTime wall(UtcSeconds moment) { return WallTime(moment.time_since_epoch()); }

}  // namespace

Result<Period> Period::parse(const Text& text) {
  if (text.sliding) {
    if (!text.at.empty() || !text.zone.empty()) {
      return Failure(
          Code::invalid_argument,
          "a sliding period begins with the last run: it has no time of day and no zone");
    }
    const std::optional<Length> length = parse_length(text.length);
    const std::optional<milliseconds> unit = length ? unit_of(length->unit) : std::nullopt;
    if (!unit) {
      return invalid("the sliding period", text.length,
                     "is not a whole number and a unit, such as 30m, 12h, 1d or 1w");
    }
    return every(length->count * *unit);
  }
  Period period;
  if (Result<void> aligned = period.align(text); !aligned) return aligned.failure();
  return period;
}

Result<void> Period::align(const Text& text) {
  const std::optional<Length> length = parse_length(text.length);
  const bool months = length && length->unit == "mo";
  const std::optional<milliseconds> unit = length ? unit_of(length->unit) : std::nullopt;
  if (!length || (!unit && !months)) {
    return invalid("the period", text.length,
                   "is not a whole number and a unit, such as 15m, 1h, 1d, 1w or 1mo");
  }
  const std::optional<seconds> at = text.at.empty() ? seconds(0) : parse_clock(text.at);
  if (!at) return invalid("the time of day", text.at, "is not one such as 03:00 or 23:30:15");
  Result<TimeZone> zone = TimeZone::find(text.zone);
  if (!zone) return zone.failure();

  count_ = length->count;
  const milliseconds span = months ? milliseconds(0) : length->count * *unit;
  if (months) {
    unit_ = Unit::months;
    if (count_ > 12 || 12 % count_ != 0) {
      return invalid("the period", text.length, "does not divide a year: write 1mo, 3mo or 12mo");
    }
  } else if (span % kDay == milliseconds(0)) {
    unit_ = Unit::days;
    count_ = span / kDay;
    if (count_ > 366) return invalid("the period", text.length, "is longer than a year");
  } else {
    unit_ = Unit::part_of_day;
    length_ = span;
    if (kDay % span != milliseconds(0) || span < seconds(1)) {
      return invalid("the period", text.length,
                     "divides no day into equal parts of at least a second: write 1h, 4h, 6h or "
                     "1d, or use a sliding one");
    }
  }
  at_ = *at;
  text_ = (months ? std::to_string(count_) + "mo" : length_text(span)) + " at " + clock_text(at_) +
          " in " + zone->name();
  zone_ = std::make_shared<const Zone>(Zone{std::move(zone).value()});
  return {};
}

// Where period `index` begins: counted in days or months of local time.
WallTime Period::boundary(std::int64_t index) const {
  local_days day;
  if (unit_ == Unit::months) {
    const std::int64_t month = index * count_;
    const std::int64_t in_year = month - floor_div(month, 12) * 12;
    day = local_days(year(static_cast<int>(1970 + floor_div(month, 12))) /
                     std::chrono::month(static_cast<unsigned>(in_year + 1)) / 1);
  } else {
    const std::int64_t per = unit_ == Unit::days ? count_ : 1;
    day = kFirstMonday + days(index * per);
  }
  return wall(zone_->zone.to_utc(LocalSeconds(day) + at_));
}

// That of the period, or of one beside it.
std::int64_t Period::index_near(WallTime moment) const {
  const UtcSeconds utc(floor<seconds>(moment.time_since_epoch()));
  const local_days day = floor<days>(zone_->zone.to_local(utc) - at_);
  if (unit_ == Unit::months) {
    const year_month_day date(day);
    const int months = (static_cast<int>(date.year()) - 1970) * 12 +
                       static_cast<int>(static_cast<unsigned>(date.month())) - 1;
    return floor_div(months, count_);
  }
  return floor_div((day - kFirstMonday).count(), unit_ == Unit::days ? count_ : 1);
}

PeriodSpan Period::whole_span_at(WallTime moment) const {
  std::int64_t index = index_near(moment);
  while (moment < boundary(index)) --index;
  while (moment >= boundary(index + 1)) ++index;  // Also over a day that a country left out.
  return {boundary(index), boundary(index + 1)};
}

PeriodSpan Period::span_at(WallTime moment) const {
  const auto length = duration_cast<WallTime::duration>(length_);
  if (unit_ == Unit::sliding) return {moment, moment + length};
  const PeriodSpan whole = whole_span_at(moment);
  if (unit_ != Unit::part_of_day) return whole;
  // Parts of the day are equally long, except that the last takes what a day of 23 or 25 hours leaves.
  const auto parts = std::max<std::int64_t>((whole.end - whole.start + length / 2) / length, 1);
  const auto part = std::min<std::int64_t>((moment - whole.start) / length, parts - 1);
  return {whole.start + part * length,
          part == parts - 1 ? whole.end : whole.start + (part + 1) * length};
}

WallTime Period::counts_from(WallTime now) const {
  if (unit_ == Unit::sliding)
    return now - duration_cast<WallTime::duration>(length_) + microseconds(1);
  return span_at(now).start;
}

Duration Period::shortest() const {
  switch (unit_) {
    case Unit::sliding: return length_;
    case Unit::part_of_day: return std::max<Duration>(length_ - hours(1), length_ / 2);
    case Unit::days: return count_ * kDay - hours(1);
    case Unit::months: return count_ * 28 * kDay - hours(1);
  }
  return length_;
}

Duration Period::lead() const {
  if (sliding()) return {};
  return std::min<Duration>(minutes(1), shortest() / 20);
}

Period every(Duration length) {
  if (length < milliseconds(1)) {
    throw LockError(Failure(Code::invalid_argument, "a period must be at least a millisecond"));
  }
  Period period;
  period.length_ = ceil<milliseconds>(length);
  period.text_ = "sliding " + length_text(duration_cast<milliseconds>(period.length_));
  return period;
}

namespace {

Period aligned(const char* length, std::string_view zone, seconds at) {
  if (at < seconds(0) || at >= kDay) {
    throw LockError(Failure(Code::invalid_argument, "the time of day must be from 0 to 24 hours"));
  }
  const std::string clock = clock_text(at);
  return Period::parse({.length = length, .at = clock, .zone = zone}).value();
}

}  // namespace

Period hourly() { return aligned("1h", "UTC", {}); }
Period daily(std::string_view zone, seconds at) { return aligned("1d", zone, at); }
Period weekly(std::string_view zone, seconds at) { return aligned("1w", zone, at); }
Period monthly(std::string_view zone, seconds at) { return aligned("1mo", zone, at); }

}  // namespace holdfast
