// Periods: they cover all of time without gaps, days have 23 to 25 hours, and words that are none are refused.
#include "holdfast/period.h"

#include <gtest/gtest.h>

#include <random>

namespace holdfast {
namespace {

using namespace std::chrono;  // NOLINT(google-build-using-namespace): test code

WallTime utc(int y, unsigned m, unsigned d, int h = 0, int min = 0, int s = 0) {
  return WallTime(
      (sys_days(year(y) / month(m) / d) + hours(h) + minutes(min) + seconds(s)).time_since_epoch());
}

Period parsed(std::string_view length, std::string_view at = {}, std::string_view zone = "UTC") {
  return Period::parse({.length = length, .at = at, .zone = zone}).value();
}

TEST(Period, ANightBeginsAtItsTimeOfDay) {
  const Period nightly = daily("Europe/Berlin", 3h);
  EXPECT_EQ(nightly.text(), "1d at 03:00 in Europe/Berlin");
  const PeriodSpan span = nightly.span_at(utc(2026, 11, 19, 2, 0, 0));  // 03:00 there
  EXPECT_EQ(span.start, utc(2026, 11, 19, 2));
  EXPECT_EQ(span.end, utc(2026, 11, 20, 2));
  EXPECT_EQ(nightly.span_at(utc(2026, 11, 19, 1, 59, 59)).end, span.start);
}

TEST(Period, ADayHas23HoursWhenSummerTimeBeginsAnd25WhenItEnds) {
  const Period by_day = daily("Europe/Berlin");
  const PeriodSpan spring = by_day.span_at(utc(2026, 3, 29, 12));
  EXPECT_EQ(spring.end - spring.start, hours(23));
  const PeriodSpan autumn = by_day.span_at(utc(2026, 10, 25, 12));
  EXPECT_EQ(autumn.end - autumn.start, hours(25));
}

TEST(Period, ATimeOfDayThatIsSkippedOrComesTwiceIsOneBoundary) {
  const Period nightly = daily("Europe/Berlin", 2h + 30min);
  EXPECT_EQ(nightly.span_at(utc(2026, 3, 29, 5)).start, utc(2026, 3, 29, 1));
  EXPECT_EQ(nightly.span_at(utc(2026, 3, 29, 0, 59)).start, utc(2026, 3, 28, 1, 30));
  EXPECT_EQ(nightly.span_at(utc(2026, 10, 25, 0, 30)).start, utc(2026, 10, 25, 0, 30));
  EXPECT_EQ(nightly.span_at(utc(2026, 10, 25, 1, 30)).start, utc(2026, 10, 25, 0, 30))
      << "02:30 for the second time";
  EXPECT_EQ(nightly.span_at(utc(2026, 10, 25, 5)).end, utc(2026, 10, 26, 1, 30));
}

TEST(Period, CronJobsAtALocalTimeFindOneBoundaryBetweenAnyTwoOfThem) {
  const Period by_day = daily("Europe/Berlin");
  // 01:30 local: 00:30 UTC in winter, 23:30 of the day before in summer. By UTC one night would be left out.
  EXPECT_NE(by_day.span_at(utc(2026, 3, 29, 0, 30)), by_day.span_at(utc(2026, 3, 29, 23, 30)));
  const Period by_utc_day = daily("UTC");
  EXPECT_EQ(by_utc_day.span_at(utc(2026, 3, 29, 0, 30)),
            by_utc_day.span_at(utc(2026, 3, 29, 23, 30)));
}

TEST(Period, PartsOfADayLeaveTheOddHourToTheLast) {
  const Period quarter = parsed("6h", "", "Europe/Berlin");
  const PeriodSpan last = quarter.span_at(utc(2026, 3, 29, 20));
  EXPECT_EQ(last.end, utc(2026, 3, 29, 22));
  EXPECT_EQ(last.end - last.start, hours(5));
  const PeriodSpan longer = quarter.span_at(utc(2026, 10, 25, 20));
  EXPECT_EQ(longer.end - longer.start, hours(7));
  const Period hour = parsed("1h", "", "Europe/Berlin");
  for (int h = 0; h < 25; ++h) {
    const PeriodSpan span = hour.span_at(utc(2026, 10, 24, 22) + hours(h) + minutes(10));
    EXPECT_EQ(span.start, utc(2026, 10, 24, 22) + hours(h));
    EXPECT_EQ(span.end - span.start, hours(1));
  }
}

TEST(Period, WeeksBeginOnMondayAndMonthsOnTheFirst) {
  const PeriodSpan week = weekly("UTC").span_at(utc(2026, 11, 19, 12));  // a Thursday
  EXPECT_EQ(week.start, utc(2026, 11, 16));
  EXPECT_EQ(week.end, utc(2026, 11, 23));
  const PeriodSpan month = monthly("UTC", 6h).span_at(utc(2026, 12, 1, 5));
  EXPECT_EQ(month.start, utc(2026, 11, 1, 6));
  EXPECT_EQ(month.end, utc(2026, 12, 1, 6));
  const PeriodSpan quarter = parsed("3mo").span_at(utc(1969, 2, 28));
  EXPECT_EQ(quarter.start, utc(1969, 1, 1));
  EXPECT_EQ(quarter.end, utc(1969, 4, 1));
}

TEST(Period, EveryMomentIsInExactlyOnePeriodAndTheNextBeginsWhereItEnds) {
  std::mt19937_64 random(3);
  std::uniform_int_distribution<std::int64_t> moments(0, 4'000'000'000'000'000);
  for (const char* length : {"1s", "15m", "1h", "4h", "12h", "1d", "2d", "1w", "1mo", "12mo"}) {
    for (const char* zone :
         {"UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns"}) {
      const Period period = parsed(length, "02:30", zone);
      for (int i = 0; i < 300; ++i) {
        const WallTime moment(microseconds(moments(random)));
        const PeriodSpan span = period.span_at(moment);
        ASSERT_LE(span.start, moment) << period.text();
        ASSERT_LT(moment, span.end) << period.text();
        ASSERT_GE(span.end - span.start, period.shortest())
            << period.text() << " at " << moment.time_since_epoch().count();
        ASSERT_EQ(period.span_at(span.start), span) << period.text();
        ASSERT_EQ(period.span_at(span.end).start, span.end) << period.text();
        ASSERT_EQ(period.span_at(span.end - microseconds(1)), span) << period.text();
      }
    }
  }
}

TEST(Period, OneThatSlidesBeginsWhenAskedAndHasNoLead) {
  const Period hour = every(1h);
  EXPECT_EQ(hour.text(), "sliding 1h");
  EXPECT_EQ(hour.span_at(utc(2026, 1, 1, 0, 7)).end, utc(2026, 1, 1, 1, 7));
  EXPECT_EQ(hour.counts_from(utc(2026, 1, 1, 1)), utc(2026, 1, 1) + microseconds(1));
  EXPECT_EQ(hour.lead(), Duration(0));
  EXPECT_EQ(daily("UTC").lead(), minutes(1));
  EXPECT_LE(parsed("1s").lead(), milliseconds(50));
}

TEST(Period, RefusesWhatIsNoneAndSaysWhatToWrite) {
  const auto problem = [](Period::Text text) {
    const Result<Period> period = Period::parse(text);
    EXPECT_FALSE(period.ok()) << text.length << " " << text.at << " " << text.zone;
    return period.ok() ? std::string() : period.message();
  };
  for (const char* length : {"", "d", "1", "0d", "-1d", "5h", "36h", "1y", "1d ", "7mo", "400d",
                             "999999999999999999s", "1ms"}) {
    EXPECT_NE(problem({.length = length, .zone = "UTC"}).find("period '"), std::string::npos)
        << length;
  }
  for (const char* at :
       {"3", "3:00", "24:00", "03:60", "-1:00", "03:00:", "0300", "03:00:61", "+3:00"}) {
    EXPECT_NE(problem({.length = "1d", .at = at, .zone = "UTC"}).find("03:00"), std::string::npos)
        << at;
  }
  EXPECT_NE(problem({.length = "1d", .zone = "Mars/Olympus"}).find("Europe/Berlin"),
            std::string::npos);
  EXPECT_NE(problem({.length = "1d", .at = "03:00", .sliding = true}).find("sliding"),
            std::string::npos);
  EXPECT_THROW(every(Duration(0)), LockError);
  EXPECT_THROW(daily("UTC", 24h), LockError);
  EXPECT_THROW(daily("Mars/Olympus"), LockError);
}

}  // namespace
}  // namespace holdfast
