#include "base/require.h"

#include <gtest/gtest.h>

#include "base/timer_heap.h"
#include "engines/redis/words.h"

namespace holdfast::internal {
namespace {

using RequireDeathTest = testing::Test;

TEST(RequireDeathTest, ABrokenContractEndsTheProcessAndNamesThePlace) {
  EXPECT_DEATH(HOLDFAST_REQUIRE(1 + 1 == 3), "require_test.cc:[0-9]+ requires 1 \\+ 1 == 3");
}

TEST(RequireDeathTest, ContractsOfTheLibraryAreChecked) {
  EXPECT_DEATH(static_cast<void>(TimerHeap().earliest()), "requires !empty\\(\\)");
  EXPECT_DEATH(static_cast<void>(redis::Words().at(0)), "requires index < count");
}

TEST(Require, AKeptContractCostsNothingAndSaysNothing) {
  int evaluated = 0;
  HOLDFAST_REQUIRE(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

}  // namespace
}  // namespace holdfast::internal
