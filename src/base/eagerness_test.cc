#include "base/eagerness.h"

#include <gtest/gtest.h>

namespace holdfast::internal {
namespace {

// How many of so many sleeps begin with a look.
int looks(Eagerness& eagerness, int sleeps, bool comes,
          Duration after = std::chrono::microseconds(40)) {
  int looks = 0;
  for (int i = 0; i < sleeps; ++i) {
    if (!eagerness.worth_a_look()) continue;
    ++looks;
    comes ? eagerness.came(after) : eagerness.came_not();
  }
  return looks;
}

TEST(Eagerness, LooksEachTimeWhileAnswersCome) {
  Eagerness eagerness;
  EXPECT_EQ(looks(eagerness, 1000, true), 1000);
}

TEST(Eagerness, AServerFarAwayIsHardlyEverLookedFor) {
  Eagerness eagerness;
  looks(eagerness, 10'000, false);
  EXPECT_LE(looks(eagerness, 10'000, false), 10);
}

TEST(Eagerness, NobodyLooksWhereOthersWantTheProcessor) {
  Eagerness eagerness;
  looks(eagerness, 10'000, true, std::chrono::milliseconds(4));
  EXPECT_LE(looks(eagerness, 10'000, true, std::chrono::milliseconds(4)), 10);
}

TEST(Eagerness, OneLateAnswerCostsOneLook) {
  Eagerness eagerness;
  looks(eagerness, 1, false);
  EXPECT_EQ(looks(eagerness, 101, true), 100);
}

TEST(Eagerness, ComesBackWhenTheServerIsFastAgain) {
  Eagerness eagerness;
  looks(eagerness, 10'000, false);
  EXPECT_GE(looks(eagerness, 10'000, true), 8'000);
}

}  // namespace
}  // namespace holdfast::internal
