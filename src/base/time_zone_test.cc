// Offsets of real zones against the C library's own, moments that clocks skip or show twice, and files that are none.
#include "base/time_zone.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <random>

namespace holdfast::internal {
namespace {

using namespace std::chrono;  // NOLINT(google-build-using-namespace): test code

UtcSeconds utc(int y, unsigned m, unsigned d, int h = 0, int min = 0) {
  return UtcSeconds(sys_days(year(y) / month(m) / d) + hours(h) + minutes(min));
}
LocalSeconds local(int y, unsigned m, unsigned d, int h = 0, int min = 0) {
  return LocalSeconds(local_days(year(y) / month(m) / d) + hours(h) + minutes(min));
}

TEST(TimeZone, AgreesWithTheCLibraryOverTwoCenturies) {
  const char* const before = std::getenv("TZ");
  const std::string saved = before ? before : "";
  for (const char* name :
       {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata",
        "America/Sao_Paulo", "Africa/Casablanca", "Europe/Dublin", "Pacific/Apia"}) {
    const Result<TimeZone> zone = TimeZone::find(name);
    ASSERT_TRUE(zone.ok()) << zone.message();
    setenv("TZ", name, 1);
    tzset();
    std::mt19937_64 random(17);
    std::uniform_int_distribution<std::int64_t> moments(-2'000'000'000, 4'000'000'000);
    for (int i = 0; i < 20'000; ++i) {
      const std::time_t moment = moments(random);
      std::tm broken_down{};
      localtime_r(&moment, &broken_down);
      ASSERT_EQ(zone->offset_at(UtcSeconds(seconds(moment))).count(), broken_down.tm_gmtoff)
          << name << " at " << moment;
    }
  }
  before ? setenv("TZ", saved.c_str(), 1) : unsetenv("TZ");
  tzset();
}

TEST(TimeZone, AMomentThatClocksSkipIsTheOneAtWhichTheySkipIt) {
  const TimeZone berlin = TimeZone::find("Europe/Berlin").value();
  EXPECT_EQ(berlin.to_utc(local(2026, 3, 29, 2, 30)), utc(2026, 3, 29, 1));
  EXPECT_EQ(berlin.to_utc(local(2026, 3, 29, 2, 0)), utc(2026, 3, 29, 1));
  EXPECT_EQ(berlin.to_utc(local(2026, 3, 29, 3, 0)), utc(2026, 3, 29, 1));
  EXPECT_EQ(berlin.to_utc(local(2026, 3, 29, 1, 59)), utc(2026, 3, 29, 0, 59));
}

TEST(TimeZone, OfAMomentThatComesTwiceTheFirstCounts) {
  const TimeZone berlin = TimeZone::find("Europe/Berlin").value();
  EXPECT_EQ(berlin.to_utc(local(2026, 10, 25, 2, 30)), utc(2026, 10, 25, 0, 30));
  EXPECT_EQ(berlin.to_utc(local(2026, 10, 25, 3, 0)), utc(2026, 10, 25, 2));
}

TEST(TimeZone, ADayThatACountryLeftOutIsNoDay) {
  const TimeZone apia = TimeZone::find("Pacific/Apia").value();
  EXPECT_EQ(apia.to_utc(local(2011, 12, 30)), apia.to_utc(local(2011, 12, 31)));
}

TEST(TimeZone, AYearFarBeyondTheFileFollowsItsRules) {
  const TimeZone berlin = TimeZone::find("Europe/Berlin").value();
  EXPECT_EQ(berlin.offset_at(utc(2300, 1, 1)), hours(1));
  EXPECT_EQ(berlin.offset_at(utc(2300, 7, 1)), hours(2));
}

TEST(ZoneRules, ReadsWhatPosixWrites) {
  const auto offset = [](const char* text, UtcSeconds moment) {
    const std::optional<ZoneRules> rules = ZoneRules::parse(text);
    EXPECT_TRUE(rules.has_value()) << text;
    return rules ? rules->offset_at(moment) : seconds(-1);
  };
  EXPECT_EQ(offset("<+0330>-3:30", utc(2026, 1, 1)), minutes(210));
  EXPECT_EQ(offset("EST5EDT,M3.2.0,M11.1.0", utc(2026, 7, 1)), -hours(4));
  EXPECT_EQ(offset("EST5EDT", utc(2026, 7, 1)), -hours(4));
  EXPECT_EQ(offset("AEST-10AEDT,M10.1.0,M4.1.0/3", utc(2026, 1, 1)), hours(11));
  EXPECT_EQ(offset("XST3XDT2,J60/0,J300/0", utc(2028, 2, 29, 12)), -hours(3));
  EXPECT_EQ(offset("XST3XDT2,J60/0,J300/0", utc(2028, 3, 1, 12)), -hours(2));
}

TEST(ZoneRules, RefusesWhatIsNone) {
  for (const char* text :
       {"", "CET", "C-1", "CET-1CEST,", "CET-1CEST,M13.1.0,M1.1.0", "CET-1x", "CET-1CEST,M3.5.0",
        "CET-200", "<+01-1", "CET-1CEST,M3.5.0,M10.5.0/3 "}) {
    EXPECT_FALSE(ZoneRules::parse(text).has_value()) << text;
  }
}

TEST(TimeZone, RefusesNamesThatLeadElsewhere) {
  for (const char* name : {"../../etc/passwd", "/etc/localtime", "Europe/Berlin\n", "no/such",
                           "Europe", "tzdata.zi"}) {
    EXPECT_FALSE(TimeZone::find(name).ok()) << name;
  }
}

TEST(TimeZone, RefusesEveryFileThatWasCutOrChanged) {
  const auto number = [](std::int32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 255);
    return bytes;
  };
  // Version 2: an empty first part; then one change at moment 0 to type 1.
  const auto header = [&](int changes, int types) {
    return "TZif2" + std::string(15, '\0') + number(0) + number(0) + number(0) + number(changes) +
           number(types) + number(4);
  };
  const std::string first =
      header(0, 1) + number(0) + std::string(2, '\0') + std::string("LMT\0", 4);
  const std::string body = header(1, 2) + number(0) + number(0) + std::string("\1", 1) +
                           number(60) + std::string(2, '\0') + number(3600) +
                           std::string("\1\0", 2) + std::string("LMT\0", 4);
  const std::string file = first + body + "\nCET-1\n";
  const Result<TimeZone> zone = TimeZone::read("made", file);
  ASSERT_TRUE(zone.ok()) << zone.message();
  EXPECT_EQ(zone->offset_at(UtcSeconds(seconds(-1))), seconds(60));
  EXPECT_EQ(zone->offset_at(UtcSeconds(seconds(1))), hours(1));
  for (std::size_t length = 0; length < first.size() + body.size(); ++length) {
    EXPECT_FALSE(TimeZone::read("made", file.substr(0, length)).ok()) << "cut after " << length;
  }
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {  // The sanitizers watch.
    std::string changed = file;
    for (int n = 0; n < 3; ++n) changed[random() % changed.size()] = static_cast<char>(random());
    const Result<TimeZone> strange = TimeZone::read("made", changed);
    if (strange) static_cast<void>(strange->to_utc(local(2026, 3, 29, 2, 30)));
  }
}

}  // namespace
}  // namespace holdfast::internal
