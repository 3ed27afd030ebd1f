#include "base/adaptive_spin.h"

#include <gtest/gtest.h>

namespace holdfast::internal {
namespace {

// How many of so many sleeps begin with a look.
int looks(AdaptiveSpin& spin, int sleeps, bool comes,
          Duration after = std::chrono::microseconds(40)) {
  int looks = 0;
  for (int i = 0; i < sleeps; ++i) {
    if (!spin.should_spin()) continue;
    ++looks;
    comes ? spin.hit(after) : spin.missed();
  }
  return looks;
}

TEST(AdaptiveSpin, LooksEachTimeWhileAnswersCome) {
  AdaptiveSpin spin;
  EXPECT_EQ(looks(spin, 1000, true), 1000);
}

TEST(AdaptiveSpin, AServerFarAwayIsHardlyEverLookedFor) {
  AdaptiveSpin spin;
  looks(spin, 10'000, false);
  EXPECT_LE(looks(spin, 10'000, false), 10);
}

TEST(AdaptiveSpin, NobodyLooksWhereOthersWantTheProcessor) {
  AdaptiveSpin spin;
  looks(spin, 10'000, true, std::chrono::milliseconds(4));
  EXPECT_LE(looks(spin, 10'000, true, std::chrono::milliseconds(4)), 10);
}

TEST(AdaptiveSpin, OneLateAnswerCostsOneLook) {
  AdaptiveSpin spin;
  looks(spin, 1, false);
  EXPECT_EQ(looks(spin, 101, true), 100);
}

TEST(AdaptiveSpin, ComesBackWhenTheServerIsFastAgain) {
  AdaptiveSpin spin;
  looks(spin, 10'000, false);
  EXPECT_GE(looks(spin, 10'000, true), 8'000);
}

}  // namespace
}  // namespace holdfast::internal
