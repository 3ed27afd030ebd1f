#include "lab/torture/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace holdfast::lab {
namespace {

TEST(PairsTest, EveryTwoFaultsMeetOnceAndSomewhere) {
  const std::vector<Scenario> pairs = pairs_of({});
  const std::size_t count = faults().size();
  EXPECT_EQ(pairs.size(), count * (count - 1) / 2);
  std::set<std::string> ids;
  for (const Scenario& pair : pairs) {
    EXPECT_TRUE(ids.insert(pair.row.id).second) << pair.row.id;
    const bool somewhere = std::ranges::any_of(
        profiles(), [&](const Profile& profile) { return pair.expected_of(profile).has_value(); });
    // No engine can both run out of memory and have its sessions ended.
    EXPECT_EQ(somewhere, pair.row.id != "memory+sessions" && pair.row.id != "sessions+empty")
        << pair.row.id;
  }
}

TEST(PairsTest, OfChosenFaultsOnlyTheirPairsAreMade) {
  const std::vector<Scenario> pairs =
      pairs_of({find_fault("restart"), find_fault("silent"), find_fault("back")});
  std::vector<std::string> ids;
  for (const Scenario& pair : pairs) ids.push_back(pair.row.id);
  EXPECT_THAT(ids, testing::ElementsAre("silent+restart", "silent+back", "restart+back"));
  EXPECT_EQ(find_fault("nonsense"), nullptr);
}

// The claim of docs/SAFETY.md.
TEST(PairsTest, WithAFullFenceHarmIsExpectedWhereMemoryAndClockAreLostOnly) {
  const std::vector<Scenario> pairs = pairs_of({});
  for (const Scenario& pair : pairs) {
    const std::string& id = pair.row.id;
    const auto has = [&](const char* fault) { return id.find(fault) != std::string::npos; };
    const bool clock_lost = has("back") && !(has("backup") && !id.ends_with("+back"));
    for (const Profile& profile : profiles()) {
      const auto expected = pair.expected_of(profile);
      if (!expected) continue;
      EXPECT_EQ(expected->stranded, Expect::no) << id;
      if (expected->harm_fenced == Expect::no) continue;
      EXPECT_EQ(expected->harm_fenced, Expect::may) << id;
      EXPECT_TRUE(clock_lost || id == "ahead+failover" || profile.consensus)
          << id << " on " << profile.name;
    }
  }
}

TEST(PairsTest, ExclusionIsExpectedWhereOnlyNetworksAndServersFail) {
  for (const char* id : {"silent+restart", "silent+still", "restart+still", "kill+restart"}) {
    const std::vector<Scenario> pairs = pairs_of({});
    const auto pair = std::ranges::find(pairs, id, [](const Scenario& s) { return s.row.id; });
    ASSERT_NE(pair, pairs.end()) << id;
    for (const Profile& profile : profiles()) {
      const auto expected = pair->expected_of(profile);
      if (expected) {
        EXPECT_EQ(expected->overlap, Expect::no) << id << " on " << profile.name;
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::lab
