#include <cctype>

#include "base/time_zone.h"

namespace holdfast::internal {

namespace {

using std::chrono::seconds;
constexpr int kMaxHours = 167;  // RFC 9636

// Takes a text apart from the front; after the first mistake nothing is taken any more.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : left_(text) {}

  bool ok() const { return ok_; }
  bool done() const { return left_.empty(); }
  char next() const { return left_.empty() ? '\0' : left_.front(); }
  bool take(char wanted) {
    if (next() != wanted || left_.empty()) return false;
    left_.remove_prefix(1);
    return true;
  }
  void require(char wanted) { ok_ = take(wanted) && ok_; }

  int number(int lowest, int highest) {
    int value = 0;
    std::size_t digits = 0;
    while (digits < 4 && std::isdigit(static_cast<unsigned char>(next())) != 0) {
      value = value * 10 + (next() - '0');
      left_.remove_prefix(1);
      ++digits;
    }
    if (digits == 0 || value < lowest || value > highest) ok_ = false;
    return value;
  }

  // "CET" or "<+03>".
  void name() {
    const bool quoted = take('<');
    std::size_t length = 0;
    const auto belongs = [&] {
      const auto byte = static_cast<unsigned char>(next());
      return std::isalpha(byte) != 0 ||
             (quoted && (std::isdigit(byte) != 0 || byte == '+' || byte == '-'));
    };
    for (; belongs(); ++length) left_.remove_prefix(1);
    if (quoted) require('>');
    if (length < 3) ok_ = false;
  }

  // [+-]hh[:mm[:ss]]
  seconds time() {
    const bool negative = take('-');
    if (!negative) take('+');
    seconds sum = std::chrono::hours(number(0, kMaxHours));
    if (take(':')) {
      sum += std::chrono::minutes(number(0, 59));
      if (take(':')) sum += seconds(number(0, 59));
    }
    return negative ? -sum : sum;
  }

  YearlyRule rule() {
    YearlyRule rule;
    if (take('M')) {
      rule.month = number(1, 12);
      require('.');
      rule.week = number(1, 5);
      require('.');
      rule.day = number(0, 6);
    } else if (take('J')) {
      rule.kind = YearlyRule::Kind::day_of_365;
      rule.day = number(1, 365);
    } else {
      rule.kind = YearlyRule::Kind::day_of_year;
      rule.day = number(0, 365);
    }
    rule.at = take('/') ? time() : std::chrono::hours(2);
    return rule;
  }

 private:
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace

LocalSeconds YearlyRule::in(std::chrono::year year) const {
  using namespace std::chrono;  // NOLINT(google-build-using-namespace): calendar
  local_days date;
  switch (kind) {
    case Kind::month_week_day: {
      const weekday wanted(static_cast<unsigned>(day));
      const auto of_month = year / std::chrono::month(static_cast<unsigned>(month));
      date = week == 5 ? local_days(of_month / wanted[last])
                       : local_days(of_month / wanted[static_cast<unsigned>(week)]);
      break;
    }
    case Kind::day_of_365:  // The 29th of February is never counted.
      date = local_days(year / January / 1) + days(day - 1 + (year.is_leap() && day > 59 ? 1 : 0));
      break;
    case Kind::day_of_year: date = local_days(year / January / 1) + days(day); break;
  }
  return LocalSeconds(date) + at;
}

std::optional<ZoneRules> ZoneRules::parse(std::string_view text) {
  Cursor cursor(text);
  ZoneRules rules;
  cursor.name();
  rules.standard_ = -cursor.time();  // POSIX counts west of Greenwich.
  if (cursor.ok() && !cursor.done()) {
    rules.has_summer_ = true;
    cursor.name();
    const bool by_default = cursor.done() || cursor.next() == ',';
    rules.summer_ = by_default ? rules.standard_ + std::chrono::hours(1) : -cursor.time();
    Cursor dates(",M3.2.0,M11.1.0");  // as glibc assumes where no dates are given
    Cursor& from = cursor.done() ? dates : cursor;
    from.require(',');
    rules.begin_ = from.rule();
    from.require(',');
    rules.end_ = from.rule();
  }
  if (!cursor.ok() || !cursor.done()) return std::nullopt;
  return rules;
}

seconds ZoneRules::offset_at(UtcSeconds moment) const {
  using namespace std::chrono;  // NOLINT(google-build-using-namespace): calendar
  if (!has_summer_) return standard_;
  const year this_year = year_month_day(floor<days>(moment + standard_)).year();
  const auto utc = [&](const YearlyRule& rule, seconds offset) {
    return UtcSeconds(rule.in(this_year).time_since_epoch() - offset);
  };
  const UtcSeconds begin = utc(begin_, standard_);
  const UtcSeconds end = utc(end_, summer_);
  const bool summer =
      begin < end ? moment >= begin && moment < end : moment < end || moment >= begin;
  return summer ? summer_ : standard_;
}

}  // namespace holdfast::internal
