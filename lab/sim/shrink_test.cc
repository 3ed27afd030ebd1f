#include "lab/sim/shrink.h"

#include <gtest/gtest.h>

namespace holdfast::lab::sim {
namespace {

TEST(Shrink, FindsTheTwoFaultsThatMatter) {
  int calls = 0;
  const Selection least = shrink(100, [&](const Selection& selection) {
    ++calls;
    return selection.keeps(17) && selection.keeps(83) && selection.divisor(83) <= 4 &&
           selection.divisor(17) == 1;
  });
  EXPECT_EQ(least.text(), "17,83/4");
  EXPECT_LE(calls, 400);
}

TEST(Shrink, FindsThatNoFaultIsNeeded) {
  EXPECT_EQ(shrink(50, [](const Selection&) { return true; }).text(), "none");
}

TEST(Shrink, KeepsEverythingIfEverythingMatters) {
  const Selection least =
      shrink(4, [](const Selection& selection) { return selection.text() == "0,1,2,3"; });
  EXPECT_EQ(least.text(), "0,1,2,3");
}

TEST(Shrink, EndsWhenItsBudgetIsSpent) {
  int calls = 0;
  shrink(1000, [&](const Selection&) { return ++calls > 0 && false; }, 20);
  EXPECT_LE(calls, 20);
}

}  // namespace
}  // namespace holdfast::lab::sim
