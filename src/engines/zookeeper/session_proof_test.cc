#include "engines/zookeeper/session_proof.h"

#include <gtest/gtest.h>

namespace holdfast::internal::zookeeper {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

BootTime at(Duration since) { return BootTime(1000s + since); }

// A timeout of 30 s, of which 20 s are believed; the leader surely knows after 9 s.
class SessionProofTest : public testing::Test {
 protected:
  void SetUp() override { proof_.created(at(0s), 30s); }
  Duration from() const { return *proof_.counted_from(20s) - at(0s); }

  SessionProof proof_;
};

TEST_F(SessionProofTest, NothingIsProvenBeforeASessionIsThere) {
  EXPECT_FALSE(SessionProof().counted_from(20s));
  proof_.ended();
  EXPECT_FALSE(proof_.counted_from(20s));
}

TEST_F(SessionProofTest, CreationCountsFromWhenItWasAskedFor) { EXPECT_EQ(from(), 0s); }

TEST_F(SessionProofTest, AnsweredPingsProveNothing) {
  for (int i = 1; i < 100; ++i) proof_.answered(at(i * 1s), at(i * 1s + 1ms));
  EXPECT_EQ(from(), 0s);
}

TEST_F(SessionProofTest, AWriteCountsFromWhenItWasSent) {
  proof_.confirmed(at(5s));
  EXPECT_EQ(from(), 5s);
}

TEST_F(SessionProofTest, AWriteAfterALongSilenceProvesOnlyWhatTheLeaderKnew) {
  proof_.confirmed(at(25s));
  EXPECT_EQ(from(), 10s) << "the session may end 30 s after its creation";
}

TEST_F(SessionProofTest, PingsThatWereAnsweredLongBeforeAWriteHaveReachedTheLeader) {
  proof_.answered(at(15s), at(16s));
  proof_.confirmed(at(24s));
  EXPECT_EQ(from(), 10s) << "16 s is only 8 s before";
  proof_.confirmed(at(25s));
  EXPECT_EQ(from(), 25s);
}

TEST_F(SessionProofTest, ThePingCountsFromWhenItWasSentAndIsUsedFromWhenItWasAnswered) {
  proof_.answered(at(2s), at(14s));
  proof_.confirmed(at(24s));
  EXPECT_EQ(from(), 12s);
}

TEST_F(SessionProofTest, SteadyPingsMakeEveryWriteWorthItsWholeTtlNearly) {
  BootTime now = at(0s);
  for (; now < at(100s); now += 1250ms) {
    proof_.answered(now, now + 1ms);
    if ((now - at(0s)) % 5s == 0s) proof_.confirmed(now);
  }
  EXPECT_GE(from(), 95s - 1s);
  EXPECT_LE(from(), 98750ms);
}

TEST_F(SessionProofTest, AnAttachmentCountsOnlyWithTheNextWrite) {
  proof_.confirmed(at(5s));
  proof_.attached(at(25s), 30s);
  EXPECT_EQ(from(), 5s) << "that leader may be none any more";
  proof_.confirmed(at(26s));
  EXPECT_EQ(from(), 26s);
}

TEST_F(SessionProofTest, WhatAnotherServerAnsweredMayHaveStayedThere) {
  proof_.answered(at(10s), at(10s));
  proof_.attached(at(11s), 30s);
  proof_.confirmed(at(32s));
  EXPECT_EQ(from(), 21s) << "from the attachment on";
}

TEST_F(SessionProofTest, AnAnswerThatComesLateChangesNothing) {
  proof_.confirmed(at(5s));
  proof_.confirmed(at(3s));
  EXPECT_EQ(from(), 5s);
}

}  // namespace
}  // namespace holdfast::internal::zookeeper
