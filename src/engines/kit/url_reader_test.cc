#include "engines/kit/url_reader.h"

#include <gmock/gmock.h>

namespace holdfast::internal {
namespace {

using testing::HasSubstr;

struct Read {
  std::string prefix = "default";
  bool flag = false;
  std::size_t count = 3;
  Duration time = std::chrono::seconds(1);
  std::vector<Endpoint> servers;
  Result<void> outcome;
};

Read read(const std::string& text) {
  const Result<Url> url = Url::parse(text);
  UrlReader reader(*url, "write x://HOST");
  Read read;
  read.servers = reader.servers(7);
  reader.text("prefix", read.prefix, 5);
  reader.flag("flag", read.flag);
  reader.number("count", read.count, 1, 9);
  reader.time_ms("time_ms", read.time, 2000);
  TlsSettings tls;
  reader.require(!reader.tls_options(tls), "no TLS here");
  read.outcome = reader.finish();
  return read;
}

std::string problem(const std::string& text) {
  const Result<void> outcome = read(text).outcome;
  return outcome ? "none" : outcome.message();
}

TEST(UrlReader, ValuesGoWhereTheyBelong) {
  const Read all = read("x://a,b:8?prefix=p&flag=yes&count=9&time_ms=2000");
  ASSERT_TRUE(all.outcome) << all.outcome.message();
  EXPECT_EQ(all.servers.size(), 2U);
  EXPECT_EQ(all.servers.front().port, 7);
  EXPECT_EQ(all.prefix, "p");
  EXPECT_TRUE(all.flag);
  EXPECT_EQ(all.count, 9U);
  EXPECT_EQ(all.time, std::chrono::seconds(2));
}

TEST(UrlReader, WhatIsNotGivenKeepsItsDefault) {
  const Read none = read("x://");
  EXPECT_EQ(problem("x://"), "none");
  EXPECT_EQ(none.prefix, "default");
  EXPECT_EQ(none.count, 3U);
  EXPECT_EQ(none.time, std::chrono::seconds(1));
}

TEST(UrlReader, TheFirstProblemIsNamedWithTheForm) {
  EXPECT_EQ(problem("x:a"), "'x:' must be followed by //; write x://HOST");
  EXPECT_EQ(problem("x://a?flag=1&count=0"), "flag is yes or no, not '1'; write x://HOST");
  EXPECT_THAT(problem("x://a?count=10"), HasSubstr("count is a number from 1 to 9, not '10'"));
  EXPECT_THAT(problem("x://a?time_ms=1s"), HasSubstr("a number of milliseconds up to 2000"));
  EXPECT_THAT(problem("x://a?prefix=sixsix"), HasSubstr("prefix is at most 5 bytes"));
  EXPECT_THAT(problem("x://a?prefix="), HasSubstr("the option 'prefix' is empty"));
  EXPECT_THAT(problem("x://a?verify=no"), HasSubstr("no TLS here"));
}

TEST(UrlReader, AnUnknownOptionIsNamedBesideTheKnownOnes) {
  EXPECT_THAT(
      problem("x://a?y=1"),
      HasSubstr(
          "unknown option 'y' (there is prefix, flag, count, time_ms, ca, cert, key, verify)"));
}

TEST(UrlReader, OptionsForAnotherReaderStayInTheUrl) {
  const Result<Url> url = Url::parse("x://a?mine=yes&other=1");
  UrlReader reader(*url, "");
  bool mine = false;
  reader.flag("mine", mine);
  const Url rest = reader.with_only({"other", "absent"});
  EXPECT_TRUE(reader.finish());
  EXPECT_TRUE(mine);
  EXPECT_EQ(rest.query, (std::map<std::string, std::string>{{"other", "1"}}));
}

}  // namespace
}  // namespace holdfast::internal
