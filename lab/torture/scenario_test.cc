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

// The claim of docs/SAFETY.md: no row expects a lost update where reads and writes are fenced.
TEST(ScenarioTest, NowhereIsHarmExpectedWithAFullFence) {
  for (const Scenario& scenario : scenarios()) {
    for (const Profile& profile : profiles()) {
      const auto expected = scenario.expected_of(profile);
      if (!expected) continue;
      EXPECT_EQ(expected->harm_fenced, Expect::no) << scenario.row.id;
    }
  }
}

TEST(ScenarioTest, OnAServerOfTheUsersNothingIsDoneToTheServer) {
  const Profile own = profile_of_url("redis://somewhere");
  std::vector<std::string> ids;
  for (const Scenario& scenario : scenarios()) {
    if (scenario.expected_of(own)) ids.push_back(scenario.row.id);
  }
  EXPECT_THAT(ids, testing::ElementsAre("1", "3", "17", "19"));
}

}  // namespace
}  // namespace holdfast::lab
