#include "lab/torture/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace holdfast::lab {
namespace {

TEST(ScenarioTest, EachHasANumberOfItsOwnAndSaysWhatItIsAbout) {
  std::set<std::string> ids;
  for (const Scenario& scenario : scenarios()) {
    EXPECT_TRUE(ids.insert(scenario.row.id).second) << scenario.row.id;
    for (const std::string* text :
         {&scenario.row.title, &scenario.row.given, &scenario.row.when, &scenario.row.then}) {
      EXPECT_FALSE(text->empty()) << scenario.row.id;
    }
    EXPECT_EQ(find_scenario(scenario.row.id), &scenario);
  }
  EXPECT_EQ(find_scenario("99"), nullptr);
}

TEST(ScenarioTest, EachRunsSomewhere) {
  for (const Scenario& scenario : scenarios()) {
    const bool somewhere = std::ranges::any_of(profiles(), [&](const Profile& profile) {
      return scenario.expected_of(profile).has_value();
    });
    EXPECT_TRUE(somewhere) << scenario.row.id;
  }
}

// The claim of docs/SAFETY.md: where reads and writes are fenced, an update is lost in one cell only, of
// an etcd that is put back to a backup.
TEST(ScenarioTest, WithAFullFenceHarmIsExpectedOfForgottenTokensOnly) {
  for (const Scenario& scenario : scenarios()) {
    for (const Profile& profile : profiles()) {
      const auto expected = scenario.expected_of(profile);
      if (!expected) continue;
      const bool control = scenario.row.title.starts_with("control");  // without tokens
      const bool forgotten = scenario.row.id == "26" && profile.name == "etcd";
      EXPECT_NE(expected->harm_fenced, Expect::yes) << scenario.row.id;
      if (!control && !forgotten) {
        EXPECT_EQ(expected->harm_fenced, Expect::no) << scenario.row.id;
      }
    }
  }
}

std::vector<std::string> ids_on(const std::string& url) {
  const Profile own = profile_of_url(url);
  std::vector<std::string> ids;
  for (const Scenario& scenario : scenarios()) {
    if (scenario.expected_of(own)) ids.push_back(scenario.row.id);
  }
  return ids;
}

TEST(ScenarioTest, OnAServerOfTheUsersNothingIsDoneToTheServer) {
  for (const char* url :
       {"redis://somewhere", "redis://u:p@h:7000/3", "memcached://h", "zookeeper://a,b,c/locks",
        "etcd://[::1]:2379", "postgres://app@db/app?recipe=advisory", "mysql://root@h:3307/x"}) {
    EXPECT_THAT(ids_on(url),
                testing::ElementsAre("1", "2", "3", "13", "14", "15", "17", "19", "31"))
        << url;
  }
  EXPECT_THAT(ids_on("redlock://a,b,c"),
              testing::ElementsAre("1", "2", "3", "13", "14", "15", "17", "19", "23", "31"));
}

// Where no proxy can stand between: files, sockets, TLS, servers that name other servers.
TEST(ScenarioTest, WhereTheWaysCannotBeCutOnlyClientsAreTormented) {
  for (const char* url :
       {"sqlite:///tmp/x.db", "rediss://h", "redis://h?socket=/run/redis.sock",
        "redis+cluster://a,b,c", "postgres://app@db/app?ca=/x.pem", "etcd://h:port", "nonsense"}) {
    EXPECT_THAT(ids_on(url), testing::ElementsAre("1", "3", "17", "19", "31")) << url;
  }
}

TEST(ScenarioTest, OfAUrlOnlyTheHostsAreReplacedByProxies) {
  const Profile own = profile_of_url("mysql://app:p%40ss@127.0.0.1/db?recipe=named");
  const std::string url = own.open({})->url("A");
  EXPECT_THAT(url,
              testing::MatchesRegex("mysql://app:p%40ss@127\\.0\\.0\\.1:[0-9]+/db\\?recipe=named"));
  EXPECT_THAT(url, testing::Not(testing::HasSubstr(":3306/")));
}

}  // namespace
}  // namespace holdfast::lab
