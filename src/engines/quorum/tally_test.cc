#include "engines/quorum/tally.h"

#include <gtest/gtest.h>

namespace holdfast::internal::quorum {
namespace {

using Kind = Ballot::Kind;

BootTime at(int ms) { return BootTime(std::chrono::milliseconds(ms)); }

Ballot accepted(int sent_at_ms = 0) {
  return {.kind = Kind::locked, .accepted = true, .sent_at = at(sent_at_ms)};
}
Ballot low(std::uint64_t fence, std::uint64_t most = 0, bool own = false) {
  return {.kind = Kind::locked, .fence = fence, .own = own, .most = most};
}
Ballot of(Kind kind, std::uint64_t fence = 0) { return {.kind = kind, .fence = fence}; }

// All are asked for token 100, and answer in order; those without a ballot are still pending.
Tally tally_of(std::size_t nodes, const std::vector<Ballot>& ballots) {
  Tally tally(nodes);
  for (std::size_t node = 0; node < nodes; ++node) tally.ask(node, 100);
  for (std::size_t node = 0; node < ballots.size(); ++node) tally.answer(node, 100, ballots[node]);
  return tally;
}

Verdict verdict_of(std::size_t nodes, const std::vector<Ballot>& ballots) {
  return tally_of(nodes, ballots).decide(100);
}

// ---- Verdicts ----------------------------------------------------------------------------------

TEST(Tally, AMajorityIsMoreThanHalf) {
  EXPECT_EQ(majority_of(1), 1U);
  EXPECT_EQ(majority_of(2), 2U);
  EXPECT_EQ(majority_of(3), 2U);
  EXPECT_EQ(majority_of(4), 3U);
  EXPECT_EQ(majority_of(5), 3U);
}

class TallyOf : public testing::TestWithParam<std::size_t> {};

TEST_P(TallyOf, ExactlyAMajorityGrants) {
  const std::size_t nodes = GetParam();
  std::vector<Ballot> ballots(majority_of(nodes) - 1, accepted());
  EXPECT_EQ(verdict_of(nodes, ballots), Verdict::open) << "one less could still become one";
  ballots.push_back(accepted());
  EXPECT_EQ(verdict_of(nodes, ballots), Verdict::granted);
}

TEST_P(TallyOf, ItIsLostAsSoonAsTooFewAreLeft) {
  const std::size_t nodes = GetParam();
  for (const Kind kind : {Kind::busy, Kind::closed, Kind::unreachable, Kind::silent}) {
    std::vector<Ballot> ballots(nodes - majority_of(nodes), of(kind));
    EXPECT_EQ(verdict_of(nodes, ballots), Verdict::open) << "the others are a majority";
    ballots.push_back(of(kind));
    EXPECT_EQ(verdict_of(nodes, ballots), Verdict::lost);
  }
}

TEST_P(TallyOf, AMajorityThatIsLockedWithoutTheTokenIsLow) {
  const std::size_t nodes = GetParam();
  EXPECT_EQ(verdict_of(nodes, std::vector<Ballot>(nodes, low(200))), Verdict::low);
}

TEST_P(TallyOf, NobodyAskedIsLost) { EXPECT_EQ(Tally(GetParam()).decide(100), Verdict::lost); }

INSTANTIATE_TEST_SUITE_P(, TallyOf, testing::Values(1, 2, 3, 4, 5),
                         testing::PrintToStringParamName());

TEST(Tally, LowWaitsForThoseWhoMayStillAccept) {
  EXPECT_EQ(verdict_of(3, {low(200)}), Verdict::open) << "the other two may accept it";
  EXPECT_EQ(verdict_of(3, {low(200), accepted()}), Verdict::open);
  EXPECT_EQ(verdict_of(3, {low(200), low(200)}), Verdict::low) << "one vote would not do";
  EXPECT_EQ(verdict_of(3, {low(200), accepted(), accepted()}), Verdict::granted);
  EXPECT_EQ(verdict_of(5, {low(200), low(200), low(200)}), Verdict::low);
  EXPECT_EQ(verdict_of(5, {low(200), low(200), accepted(), accepted()}), Verdict::open);
  EXPECT_EQ(verdict_of(5, {low(200), low(200), accepted(), accepted(), of(Kind::busy)}),
            Verdict::low);
}

TEST(Tally, HalfOfAnEvenNumberIsNoMajority) {
  EXPECT_EQ(verdict_of(2, {accepted(), of(Kind::busy)}), Verdict::lost);
  EXPECT_EQ(verdict_of(4, {accepted(), accepted(), of(Kind::busy), of(Kind::busy)}), Verdict::lost);
  EXPECT_EQ(verdict_of(4, {accepted(), accepted(), low(200), of(Kind::busy)}), Verdict::low);
}

TEST(Tally, WhoIsNotWaitedForCountsWhenItAnswersAllTheSame) {
  Tally tally = tally_of(3, {accepted()});
  EXPECT_EQ(tally.pending(), 2U);
  tally.stop_waiting();
  EXPECT_EQ(tally.pending(), 0U);
  EXPECT_EQ(tally.decide(100), Verdict::lost);
  tally.answer(1, 100, accepted());
  EXPECT_EQ(tally.decide(100), Verdict::granted);
  EXPECT_EQ(tally.unanswered(), 1U);

  Tally locked = tally_of(3, {low(200), accepted()});
  locked.stop_waiting();
  EXPECT_EQ(locked.decide(100), Verdict::low);
}

TEST(Tally, AVoteForAnotherTokenIsNoneForThisOne) {
  Tally tally = tally_of(3, {accepted(), accepted()});
  EXPECT_EQ(tally.decide(100), Verdict::granted);
  EXPECT_EQ(tally.decide(101), Verdict::low);
}

// ---- The second question -----------------------------------------------------------------------

TEST(Tally, ASecondTokenThatAMajorityAcceptsIsGranted) {
  Tally tally = tally_of(3, {low(200), low(150), of(Kind::busy)});
  ASSERT_EQ(tally.decide(100), Verdict::low);
  for (const std::size_t node : {0, 1}) tally.ask(node, 201);
  EXPECT_EQ(tally.decide(201), Verdict::open);
  tally.answer(0, 201, accepted());
  EXPECT_EQ(tally.decide(201), Verdict::open);
  tally.answer(1, 201, accepted());
  EXPECT_EQ(tally.decide(201), Verdict::granted);
}

TEST(Tally, ANodeWhoseWordHasEndedIsNotLockedAnyMore) {
  Tally tally = tally_of(3, {low(200), low(200), of(Kind::busy)});
  for (const std::size_t node : {0, 1}) tally.ask(node, 201);
  tally.answer(0, 201, accepted());
  tally.answer(1, 201, of(Kind::unreachable));
  EXPECT_EQ(tally.locked(), 1U);
  EXPECT_EQ(tally.decide(201), Verdict::lost);
}

TEST(Tally, ANodeThatDoesNotAnswerTheSecondTimeIsStillLocked) {
  Tally tally = tally_of(3, {low(200), low(200), of(Kind::busy)});
  for (const std::size_t node : {0, 1}) tally.ask(node, 201);
  tally.answer(0, 201, accepted());
  tally.answer(1, 201, of(Kind::silent));
  EXPECT_TRUE(tally.is_locked(1));
  EXPECT_EQ(tally.decide(201), Verdict::low) << "it may be asked once more";
}

TEST(Tally, AnAnswerToAnEarlierQuestionIsLeftOut) {
  Tally tally = tally_of(3, {low(200), low(200)});
  for (const std::size_t node : {0, 1}) tally.ask(node, 201);
  tally.answer(0, 100, accepted());
  EXPECT_TRUE(tally.is_pending(0)) << "the last question was not answered";
  tally.answer(1, 100, of(Kind::busy));
  EXPECT_TRUE(tally.is_locked(1));
  EXPECT_EQ(tally.decide(201), Verdict::open);
}

TEST(Tally, AnAnswerThatComesTwiceCountsOnce) {
  Tally tally = tally_of(3, {accepted()});
  tally.answer(0, 100, of(Kind::busy));
  EXPECT_TRUE(tally.is_locked(0));
  EXPECT_EQ(tally.locked(), 1U);
}

// ---- From when it counts -----------------------------------------------------------------------

TEST(Tally, ItCountsFromTheMajorityThNewestMoment) {
  EXPECT_EQ(tally_of(1, {accepted(7)}).counted_from(100), at(7));
  EXPECT_EQ(tally_of(2, {accepted(7), accepted(9)}).counted_from(100), at(7));
  EXPECT_EQ(tally_of(3, {accepted(5), accepted(1), accepted(3)}).counted_from(100), at(3));
  EXPECT_EQ(tally_of(3, {accepted(5), accepted(1)}).counted_from(100), at(1));
  EXPECT_EQ(tally_of(4, {accepted(4), accepted(3), accepted(2), accepted(1)}).counted_from(100),
            at(2));
  EXPECT_EQ(tally_of(5, {accepted(9), accepted(2), accepted(4), accepted(8), accepted(6)})
                .counted_from(100),
            at(6));
}

TEST(Tally, ASecondQuestionDoesNotLengthenTheLock) {
  Tally tally(1);
  tally.ask(0, 100);
  Ballot first = low(200);
  first.sent_at = at(5);
  tally.answer(0, 100, first);
  tally.ask(0, 201);
  tally.answer(0, 201, accepted(50));
  EXPECT_EQ(tally.counted_from(201), at(5));
}

TEST(Tally, OnlyVotesForTheTokenCountForItsMoment) {
  Tally tally = tally_of(3, {low(200), low(200), accepted(90)});
  for (const std::size_t node : {0, 1}) {
    tally.ask(node, 201);
    tally.answer(node, 201, accepted(95));
  }
  EXPECT_EQ(tally.counted_from(201), at(0)) << "the third accepted another token";
}

// ---- The next proposal -------------------------------------------------------------------------

TEST(Tally, TheNextTokenIsAboveAllThatWereAccepted) {
  EXPECT_EQ(tally_of(3, {low(200), low(300), accepted()}).next_token(1), 301U);
  EXPECT_EQ(tally_of(3, {low(200), low(200), of(Kind::busy, 500)}).next_token(1), 501U)
      << "what a busy node knows of counts as well";
  EXPECT_EQ(tally_of(5, {low(200), low(200), low(200)}).highest_fence(), 200U);
}

TEST(Tally, TheNextTokenIsAtLeastTheFloor) {
  EXPECT_EQ(tally_of(3, {low(200), low(300)}).next_token(1000), 1000U);
  EXPECT_EQ(tally_of(3, {low(200), low(300)}).next_token(301), 301U);
  EXPECT_EQ(tally_of(3, {low(200), low(300)}).next_token(300), 301U);
}

TEST(Tally, AFloorThatWouldCostVotesIsNotKept) {
  // Our clock is ahead of theirs: 1000 is more than they accept.
  const std::uint64_t token =
      tally_of(3, {low(200, 900), low(300, 800), low(100, 850)}).next_token(1000);
  EXPECT_GT(token, 300U);
  EXPECT_LE(token, 800U);
}

TEST(Tally, TheNextTokenIsNeverOneThatNobodyMayVoteFor) {
  // The nodes were refounded above 500, and our clock is ahead of what they accept.
  const std::uint64_t token =
      tally_of(3, {low(200, 900), low(300, 800), low(100, 850)}).next_token(1000, 501);
  EXPECT_GT(token, 500U);
  EXPECT_LE(token, 800U);
  EXPECT_GT(tally_of(3, {low(90, 0, true), low(90, 0, true), low(80)}).next_token(1, 501), 500U)
      << "what the claim had before they were";
}

TEST(Tally, ANodeFarAheadIsLeftBehindForTheOthers) {
  // One node has accepted 5000, which is more than the others would follow to.
  const std::uint64_t token =
      tally_of(3, {low(5000, 900), low(300, 900), low(200, 900)}).next_token(1);
  EXPECT_GT(token, 300U);
  EXPECT_LE(token, 900U);
}

TEST(Tally, ALimitThatIsNotSaidIsNone) {
  EXPECT_EQ(tally_of(3, {low(5000, 0), low(300, 0), low(200, 0)}).next_token(1), 5001U);
}

TEST(Tally, ATokenThatTheClaimHasAlreadyIsProposedAgain) {
  EXPECT_EQ(tally_of(3, {low(90, 0, true), low(90, 0, true), of(Kind::busy)}).next_token(100), 90U);
  EXPECT_EQ(tally_of(3, {low(90, 0, true), low(80), of(Kind::busy)}).next_token(100), 90U)
      << "the second has not accepted it yet, and would";
}

TEST(Tally, AnOwnTokenThatNoMajorityWouldHaveIsGivenUp) {
  EXPECT_EQ(tally_of(3, {low(90, 0, true), low(95), low(95)}).next_token(100), 100U);
  EXPECT_EQ(tally_of(3, {low(90, 0, true), of(Kind::busy), low(95)}).next_token(1), 96U);
}

TEST(Tally, ATokenAcceptedByAMinorityIsProposedToTheOthersWhoWouldHaveIt) {
  // Low: two were asked with 100 and had 200; the third has accepted 100 only just now.
  EXPECT_EQ(tally_of(3, {accepted(), low(200), low(200)}).next_token(1), 201U);
  // None is above 100, and the one that did not answer may have it.
  EXPECT_EQ(tally_of(3, {accepted(), low(99), of(Kind::silent)}).next_token(1), 100U);
}

TEST(Tally, NodesThatAreNotLockedHaveNoSay) {
  Tally tally = tally_of(3, {low(90, 0, true), low(80), of(Kind::busy)});
  tally.ask(0, 91);
  tally.answer(0, 91, of(Kind::unreachable));
  EXPECT_EQ(tally.locked(), 1U);
  EXPECT_GT(tally.next_token(1), 90U) << "an own token of a node that is not locked";
}

}  // namespace
}  // namespace holdfast::internal::quorum
