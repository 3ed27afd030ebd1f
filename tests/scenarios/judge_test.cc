// The judge's own judgement: it must see what is there, and nothing else.
#include "judge.h"

#include <gtest/gtest.h>

namespace holdfast::scenarios {
namespace {

Judge::Worker holder_of(std::uint64_t token) {
  return {.held = [] { return true; }, .token = Token(token)};
}
const Judge::Worker kNobody{.held = [] { return false; }, .token = Token(0)};

TEST(JudgeTest, OneHolderIsSafe) {
  Judge judge;
  EXPECT_EQ(judge.judge(holder_of(33), kNobody), kSafe);
  EXPECT_EQ(judge.judge(kNobody, holder_of(33)), kSafe);
  EXPECT_EQ(judge.judge(kNobody, kNobody), kSafe);
}

TEST(JudgeTest, TheFenceToldTwoHoldersApart) {
  Judge judge;
  EXPECT_EQ(judge.judge(holder_of(33), holder_of(34)), kOverlapWithoutHarmToTheFenced);
  EXPECT_EQ(judge.judge(holder_of(34), holder_of(33)), kOverlapWithoutHarmToTheFenced);
}

// What a restarted counter does: no fence can help.
TEST(JudgeTest, ATokenGivenTwiceIsHarmInSpiteOfTheFence) {
  Judge judge;
  const Verdict verdict = judge.judge(holder_of(33), holder_of(33));
  EXPECT_EQ(verdict, (Verdict{true, true, true})) << verdict;
}

}  // namespace
}  // namespace holdfast::scenarios
