#include "engines/quorum/quorum_view.h"

#include <gtest/gtest.h>

namespace holdfast::internal::quorum {
namespace {

using std::chrono::milliseconds;

ClaimId id(std::uint8_t number) { return ClaimId({number}); }

HolderInfo holder(std::uint8_t number, std::uint64_t token, int expires_in_ms = 1000) {
  return {.id = id(number),
          .token = Token(token),
          .label = "holder " + std::to_string(number),
          .held_for = std::nullopt,
          .expires_in = milliseconds(expires_in_ms)};
}

WaiterInfo waiter(std::uint8_t number, int waited_for_ms) {
  return {.id = id(number), .label = "", .waited_for = milliseconds(waited_for_ms)};
}

LockInfo seen(std::uint64_t last_token, std::vector<HolderInfo> holders = {},
              std::vector<WaiterInfo> waiters = {}) {
  return {.name = "x",
          .last_token = Token(last_token),
          .holders = std::move(holders),
          .waiters = std::move(waiters)};
}

TEST(QuorumView, AClaimHoldsIfAMajorityHasIt) {
  const LockInfo info = merge("x", {seen(7, {holder(1, 7)}), seen(7, {holder(1, 7)}), seen(5)}, 2);
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_EQ(info.name, Name("x"));
  EXPECT_EQ(info.holders[0].id, id(1));
  EXPECT_EQ(info.holders[0].token, Token(7));
  EXPECT_EQ(info.holders[0].label, "holder 1");
  EXPECT_EQ(info.last_token, Token(7));
}

TEST(QuorumView, WhatAMinorityHasIsNotShown) {
  const LockInfo info =
      merge("x", {seen(7, {holder(1, 7)}), seen(8, {holder(2, 8)}), seen(9, {holder(3, 9)})}, 2);
  EXPECT_TRUE(info.holders.empty());
}

TEST(QuorumView, NodesThatDidNotAnswerAreNotCountedAsVotes) {
  EXPECT_TRUE(merge("x", {seen(7, {holder(1, 7)}), seen(7, {holder(1, 7)})}, 3).holders.empty());
}

TEST(QuorumView, AHoldLastsAsLongAsAMajorityHasIt) {
  const auto expires_in = [](std::vector<int> ends_ms) {
    std::vector<LockInfo> nodes;
    for (const int end_ms : ends_ms) nodes.push_back(seen(7, {holder(1, 7, end_ms)}));
    return merge("x", nodes, 2).holders.at(0).expires_in;
  };
  EXPECT_EQ(expires_in({100, 300, 200}), milliseconds(200));
  EXPECT_EQ(expires_in({300, 100}), milliseconds(100));
}

TEST(QuorumView, AnEndThatTooFewTellOfIsNotTold) {
  HolderInfo endless = holder(1, 7);
  endless.expires_in.reset();
  const LockInfo info = merge("x", {seen(7, {holder(1, 7)}), seen(7, {endless})}, 2);
  ASSERT_EQ(info.holders.size(), 1U);
  // Whatever it says, it must not be that the hold ends later than a majority knows.
  EXPECT_EQ(info.holders[0].expires_in, milliseconds(1000));
}

TEST(QuorumView, TheTokenIsTheHighestThatIsKnownOfTheClaim) {
  // A reader's node whose answer is older says 0.
  const LockInfo info = merge("x", {seen(7, {holder(1, 0)}), seen(7, {holder(1, 7)})}, 2);
  EXPECT_EQ(info.holders.at(0).token, Token(7));
}

TEST(QuorumView, ReadersAreSortedByToken) {
  const std::vector<HolderInfo> both{holder(1, 9), holder(2, 8)};
  const LockInfo info = merge("x", {seen(9, both), seen(9, both)}, 2);
  ASSERT_EQ(info.holders.size(), 2U);
  EXPECT_EQ(info.holders[0].token, Token(8));
  EXPECT_EQ(info.holders[1].token, Token(9));
}

TEST(QuorumView, TheLastTokenIsOneThatAMajorityCanHaveAccepted) {
  EXPECT_EQ(merge("x", {seen(900), seen(7), seen(5)}, 2).last_token, Token(7));
  EXPECT_EQ(merge("x", {seen(900), seen(7), seen(5), seen(900), seen(900)}, 3).last_token,
            Token(900));
  EXPECT_EQ(merge("x", {seen(900)}, 2).last_token, Token()) << "one node alone knows nothing";
}

TEST(QuorumView, TheLastTokenIsNeverBelowAHolders) {
  const LockInfo info = merge("x", {seen(5, {holder(1, 7)}), seen(5, {holder(1, 7)})}, 2);
  EXPECT_EQ(info.last_token, Token(7));
}

TEST(QuorumView, AWaiterIsShownOnceWithItsLongestWait) {
  const LockInfo info = merge(
      "x",
      {seen(1, {}, {waiter(1, 10), waiter(2, 50)}),
       seen(1, {}, {waiter(1, 30), waiter(2, 40), waiter(3, 90)}), seen(1, {}, {waiter(1, 20)})},
      2);
  ASSERT_EQ(info.waiters.size(), 2U);
  EXPECT_EQ(info.waiters[0].id, id(2)) << "who waits longest comes first, of those at a majority";
  EXPECT_EQ(info.waiters[1].id, id(1));
  EXPECT_EQ(info.waiters[1].waited_for, milliseconds(30));
}

TEST(QuorumView, AHolderIsNotShownAsAWaiter) {
  // A node that has not voted for it yet still has it in its line.
  const LockInfo info = merge(
      "x", {seen(7, {holder(1, 7)}), seen(7, {holder(1, 7)}), seen(5, {}, {waiter(1, 10)})}, 2);
  EXPECT_EQ(info.holders.size(), 1U);
  EXPECT_TRUE(info.waiters.empty());
}

TEST(QuorumView, NothingIsNothing) {
  const LockInfo info = merge("x", {}, 1);
  EXPECT_TRUE(info.holders.empty());
  EXPECT_TRUE(info.waiters.empty());
  EXPECT_EQ(info.last_token, Token());
}

}  // namespace
}  // namespace holdfast::internal::quorum
