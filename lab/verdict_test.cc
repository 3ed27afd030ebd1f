#include "lab/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::lab {
namespace {

Tally tally_of(std::uint64_t runs, std::uint64_t bad, Question question) {
  Tally tally;
  for (std::uint64_t i = 0; i < runs; ++i) {
    Verdict verdict;
    verdict.stranded = Answer::no;
    if (i < bad) verdict[question] = Answer::yes;
    tally.add(verdict);
  }
  return tally;
}

TEST(VerdictTest, WhatWasNotSeenIsBoundedAndNotProven) {
  EXPECT_EQ(tally_of(50, 0, Question::overlap).text(Question::overlap),
            "no violation in 50 runs (at most 6 % at 95 %)");
  EXPECT_EQ(tally_of(1, 0, Question::overlap).text(Question::overlap),
            "no violation in 1 run (at most 100 % at 95 %)");
  EXPECT_EQ(tally_of(50, 3, Question::overlap).text(Question::overlap), "in 3 of 50 runs");
}

TEST(VerdictTest, UnknownIsCountedForItself) {
  Tally tally = tally_of(3, 0, Question::overlap);
  tally.add(unknown_verdict());
  EXPECT_EQ(tally.text(Question::overlap),
            "unknown in 1 of 4 runs; no violation in 3 runs (at most 100 % at 95 %)");
  EXPECT_EQ(Tally().text(Question::overlap), "not run");
  Tally nothing;
  nothing.add(unknown_verdict());
  EXPECT_EQ(letters(nothing), "?");
  EXPECT_THAT(differences({}, nothing),
              testing::ElementsAre("nothing is known: no run came to its end"));
  EXPECT_EQ(nothing.text(Question::overlap), "unknown in 1 of 1 run");
}

TEST(VerdictTest, LettersOfTheDebate) {
  EXPECT_EQ(letters(Expected{}), "S");
  EXPECT_EQ(letters(Expected{.stalled = Expect::yes}), "L");
  EXPECT_EQ(letters(Expected{.overlap = Expect::yes, .harm_unfenced = Expect::yes}), "V, f S");
  EXPECT_EQ(letters(Expected{
                .overlap = Expect::yes, .harm_unfenced = Expect::yes, .harm_fenced = Expect::yes}),
            "V, f V");
  EXPECT_EQ(letters(Expected{.harm_unfenced = Expect::yes}), "V, f S");
  EXPECT_EQ(letters(Expected{.stranded = Expect::yes}), "stranded");
  EXPECT_EQ(letters(Expected{.overlap = Expect::yes, .harm_fenced = Expect::may}), "V");
  EXPECT_EQ(letters(tally_of(2, 1, Question::overlap)), "V, f S");
  EXPECT_EQ(letters(tally_of(2, 0, Question::overlap)), "S");
  EXPECT_EQ(letters(tally_of(2, 2, Question::stalled)), "L");
}

TEST(VerdictTest, WhereNobodyKnowsWhatAFenceWouldDoNothingIsSaidOfIt) {
  Verdict verdict;
  verdict.overlap = Answer::yes;
  verdict.harm_fenced = Answer::unknown;
  Tally tally;
  tally.add(verdict);
  EXPECT_EQ(letters(tally), "V");
}

TEST(VerdictTest, ADifferenceIsSaidInBothDirections) {
  EXPECT_THAT(differences({}, tally_of(5, 0, Question::overlap)), testing::IsEmpty());
  EXPECT_THAT(differences({}, tally_of(5, 2, Question::overlap)),
              testing::ElementsAre("two holders at once: not expected, seen in 2 of 5 runs"));
  EXPECT_THAT(differences({.overlap = Expect::yes}, tally_of(5, 0, Question::overlap)),
              testing::ElementsAre("two holders at once: expected, not seen in 5 runs"));
  EXPECT_THAT(differences({.overlap = Expect::may}, tally_of(5, 2, Question::overlap)),
              testing::IsEmpty());
}

}  // namespace
}  // namespace holdfast::lab
