#include "engines/zookeeper/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::internal::zookeeper {
namespace {

using Names = std::vector<std::string>;

std::string number(std::int32_t sequence) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%010d", sequence);
  return text.data();
}

std::string node(std::uint8_t who, std::int32_t sequence, Mode mode = Mode::exclusive,
                 std::uint32_t permits = 1) {
  const Claim claim{.name = "x", .id = ClaimId({who}), .mode = mode, .permits = permits};
  return claim_node_prefix(claim, false) + number(sequence);
}
std::string reader(std::uint8_t who, std::int32_t sequence) {
  return node(who, sequence, Mode::shared);
}
std::string permit(std::uint8_t who, std::int32_t sequence, std::uint32_t permits) {
  return node(who, sequence, Mode::permit, permits);
}
std::string curator(std::int32_t sequence) { return "_c_x-lock-" + number(sequence); }

TEST(QueueTest, TheLowestNumberHoldsInWhateverOrderTheyAreListed) {
  const Names names{node(3, 3), node(1, 1), node(2, 2)};
  EXPECT_TRUE(decide(names, node(1, 1)).granted);
  const Decision third = decide(names, node(3, 3));
  EXPECT_FALSE(third.granted);
  EXPECT_EQ(third.watch, node(2, 2));
  EXPECT_EQ(third.holder, node(1, 1));
  EXPECT_EQ(third.rank, 1U);
}

TEST(QueueTest, NodesThatAreNoClaimsDoNotCount) {
  const Names names{"config", "leases", node(5, 5)};
  EXPECT_TRUE(decide(names, node(5, 5)).granted);
}

TEST(QueueTest, WhoIsNotInTheListIsGone) {
  EXPECT_FALSE(decide({node(1, 1)}, node(2, 2)).present);
  EXPECT_FALSE(decide({}, node(2, 2)).present);
}

TEST(QueueTest, NumbersGoOnAfterTheLargest) {
  const Names names{node(1, INT32_MIN), node(2, INT32_MAX), node(3, INT32_MIN + 1),
                    node(4, INT32_MAX - 1)};
  EXPECT_TRUE(decide(names, node(4, INT32_MAX - 1)).granted);
  EXPECT_EQ(decide(names, node(2, INT32_MAX)).watch, node(4, INT32_MAX - 1));
  EXPECT_EQ(decide(names, node(1, INT32_MIN)).watch, node(2, INT32_MAX));
  EXPECT_EQ(decide(names, node(3, INT32_MIN + 1)).watch, node(1, INT32_MIN));
}

TEST(QueueTest, NumbersAroundTheLargestSayNothingAboutTheOrder) {
  for (const std::int32_t sequence : {INT32_MAX, INT32_MIN, INT32_MIN + 7, -1}) {
    EXPECT_TRUE(decide({node(1, sequence)}, node(1, sequence)).used_up) << sequence;
    EXPECT_TRUE(runs_out(sequence));
  }
  EXPECT_FALSE(decide({node(1, INT32_MAX - 1)}, node(1, INT32_MAX - 1)).used_up);
  EXPECT_TRUE(runs_out(INT32_MAX - 1000));
  EXPECT_FALSE(runs_out(1 << 30));
}

TEST(QueueTest, TheEndOfTheOnlyOneBeforeIsTheGrantHoweverItComes) {
  const Names names{curator(1), node(2, 2)};
  const Decision second = decide(names, node(2, 2));
  EXPECT_TRUE(second.end_grants);
  EXPECT_FALSE(second.release_grants) << "others may write into their nodes as they like";
}

TEST(QueueTest, AHoldfastNodeThatIsOnlyDeletedMayHaveMoved) {
  const Decision second = decide({node(1, 1), node(2, 2)}, node(2, 2));
  EXPECT_FALSE(second.end_grants);
  EXPECT_TRUE(second.release_grants);
  const Claim claim{.name = "x", .id = ClaimId({1})};
  const std::string kept = claim_node_prefix(claim, true) + number(1);
  EXPECT_TRUE(decide({kept, node(2, 2)}, node(2, 2)).end_grants) << "it does not move again";
}

TEST(QueueTest, AWriterBehindTheLastReaderNeedsNotLook) {
  EXPECT_TRUE(decide({reader(1, 1), node(2, 2)}, node(2, 2)).release_grants);
  EXPECT_FALSE(decide({reader(1, 1), reader(3, 2), node(2, 3)}, node(2, 3)).release_grants);
  EXPECT_FALSE(decide({permit(1, 1, 2), node(2, 2)}, node(2, 2)).release_grants)
      << "a permit is written into when it is granted";
}

TEST(QueueTest, WithMoreThanOneBeforeOnlyTheNewsOfAHoldfastHolderIsTheGrant) {
  const Names names{node(1, 1), node(2, 2), node(3, 3)};
  const Decision third = decide(names, node(3, 3));
  EXPECT_FALSE(third.end_grants) << "the second may leave while the first holds";
  EXPECT_TRUE(third.release_grants);
  EXPECT_FALSE(decide({node(1, 1), curator(2), node(3, 3)}, node(3, 3)).release_grants);
}

TEST(QueueTest, ReadersShareAndWaitForTheNearestWriterBeforeThem) {
  const Names names{reader(1, 1), reader(2, 2), node(3, 3), reader(4, 4), reader(5, 5)};
  EXPECT_TRUE(decide(names, reader(1, 1)).granted);
  EXPECT_TRUE(decide(names, reader(2, 2)).granted);
  const Decision writer = decide(names, node(3, 3));
  EXPECT_EQ(writer.watch, reader(2, 2));
  EXPECT_FALSE(writer.end_grants);
  EXPECT_FALSE(writer.release_grants) << "another reader may still read";
  const Decision last = decide(names, reader(5, 5));
  EXPECT_EQ(last.watch, node(3, 3));
  EXPECT_TRUE(last.release_grants) << "then there are readers only";
  EXPECT_EQ(last.rank, 2U);
}

TEST(QueueTest, AReaderBehindTwoWritersIsLetInByTheSecondOnlyIfThatHeld) {
  const Names names{node(1, 1), node(2, 2), reader(3, 3), reader(4, 4)};
  const Decision last = decide(names, reader(4, 4));
  EXPECT_EQ(last.watch, node(2, 2));
  EXPECT_FALSE(last.end_grants);
  EXPECT_TRUE(last.release_grants);
}

TEST(QueueTest, AtMostNPermitsAreHeld) {
  Names names;
  for (std::uint8_t i = 1; i <= 6; ++i) names.push_back(permit(i, i, 2));
  EXPECT_TRUE(decide(names, names[0]).granted);
  EXPECT_TRUE(decide(names, names[1]).granted);
  for (const std::size_t i : {2U, 3U}) {
    const Decision first = decide(names, names[i]);
    EXPECT_FALSE(first.granted);
    EXPECT_EQ(first.watch, "") << "any of the two can be the next to leave";
    EXPECT_FALSE(first.end_grants);
    EXPECT_EQ(first.rank, i - 2);
  }
  for (const std::size_t i : {4U, 5U}) {
    const Decision later = decide(names, names[i]);
    EXPECT_EQ(later.watch, names[i - 2]) << "when that one is in, this one is among the first";
    EXPECT_TRUE(later.look_if_held);
    EXPECT_FALSE(later.end_grants);
    EXPECT_FALSE(later.release_grants);
  }
}

TEST(QueueTest, PermitsWaitForWritersAndReadersBeforeThem) {
  const Names names{node(1, 1), permit(2, 2, 2), permit(3, 3, 2), permit(4, 4, 2)};
  const Decision third = decide(names, permit(3, 3, 2));
  EXPECT_EQ(third.watch, node(1, 1));
  EXPECT_TRUE(third.release_grants);
  const Decision fourth = decide(names, permit(4, 4, 2));
  EXPECT_FALSE(fourth.end_grants) << "two permits are before it";
  EXPECT_FALSE(fourth.release_grants);
  EXPECT_FALSE(decide({reader(1, 1), permit(2, 2, 2)}, permit(2, 2, 2)).granted);
  EXPECT_FALSE(decide({permit(1, 1, 2), reader(2, 2)}, reader(2, 2)).granted);
}

TEST(QueueTest, ASemaphoreOfAnotherNumberIsSeen) {
  const Names names{node(1, 1), permit(2, 2, 3), permit(3, 3, 4)};
  EXPECT_EQ(decide(names, permit(3, 3, 4)).other_permits, 3U);
  EXPECT_FALSE(decide(names, permit(2, 2, 3)).other_permits) << "it came first";
  EXPECT_FALSE(decide(names, node(1, 1)).other_permits);
}

TEST(QueueTest, TheNodeOfAnEarlierAttemptCounts) {
  const Names names{node(7, 1), node(8, 2), node(7, 3)};
  EXPECT_EQ(decide(names, node(7, 3)).elder, node(7, 1));
  EXPECT_FALSE(decide(names, node(7, 1)).elder);
}

// ---- Without reading the queue -----------------------------------------------------------------

constexpr std::uint64_t kEpoch = std::uint64_t{7} << 32;

TEST(QueueTest, TheNextNumberAfterOneThatHeldAloneIsAlone) {
  const Former former{.sequence = 100, .czxid = kEpoch + 5000};
  EXPECT_TRUE(follows_directly(former, 101, kEpoch + 5002));
  EXPECT_TRUE(follows_directly(former, 101, kEpoch + 5101)) << "others used the servers meanwhile";
}

TEST(QueueTest, ANumberThatWasSkippedWasSomebodyElses) {
  const Former former{.sequence = 100, .czxid = kEpoch + 5000};
  EXPECT_FALSE(follows_directly(former, 102, kEpoch + 5003));
  EXPECT_FALSE(follows_directly(former, 100, kEpoch + 5003));
  EXPECT_FALSE(follows_directly(former, 3, kEpoch + 5003)) << "the lock was made anew";
}

// Our claim had number 100. Somebody deletes the lock, makes it anew, and a hundred and one claims
// are made in it, of which the last one holds; the next one is ours, with number 101 again.
TEST(QueueTest, TheSameNumberInALockThatWasMadeAnewIsNotTakenForTheNextOne) {
  const Former former{.sequence = 100, .czxid = kEpoch + 5000};
  constexpr std::uint64_t kOurRemoval = 1, kClaims = 101;  // Lock and first claim may be one.
  const std::uint64_t ours = former.czxid + kOurRemoval + kClaims + 1;
  EXPECT_FALSE(follows_directly(former, 101, ours));
}

TEST(QueueTest, AnotherLeadersTransactionsCannotBeCounted) {
  const Former former{.sequence = 100, .czxid = kEpoch + 5000};
  EXPECT_FALSE(follows_directly(former, 101, kEpoch + (std::uint64_t{1} << 32) + 5002));
  EXPECT_FALSE(follows_directly(former, 101, kEpoch + 4000));
}

TEST(QueueTest, WhereNumbersRunOutTheQueueIsRead) {
  EXPECT_FALSE(follows_directly({.sequence = INT32_MAX - 1, .czxid = 5}, INT32_MAX, 7));
  EXPECT_FALSE(follows_directly({.sequence = INT32_MIN, .czxid = 5}, INT32_MIN + 1, 7));
}

// One that knows only who is before it decides as one that has read the queue.
TEST(QueueTest, BehindAKnownOneItIsTheSameAsWithTheWholeQueue) {
  const std::vector<Names> queues{
      {node(1, 1), node(9, 9)},
      {node(1, 1), node(2, 2), node(9, 9)},
      {curator(1), node(9, 9)},
      {node(1, 1), curator(2), node(9, 9)},
      {reader(1, 1), node(9, 9)},
      {reader(1, 1), reader(2, 2), node(9, 9)},
      {node(1, 1), reader(2, 2), node(9, 9)},
      {permit(1, 1, 2), node(9, 9)},
      {permit(1, 1, 2), permit(2, 2, 2), node(9, 9)},
  };
  for (const Names& queue : queues) {
    const Decision whole = decide(queue, node(9, 9));
    const std::vector<ClaimNode> nodes = in_order(queue);
    const Decision behind = decide_behind({nodes[nodes.size() - 2], nodes.size() == 2});
    EXPECT_EQ(behind.watch, whole.watch);
    EXPECT_EQ(behind.end_grants, whole.end_grants) << whole.watch;
    EXPECT_EQ(behind.release_grants, whole.release_grants) << whole.watch;
    EXPECT_FALSE(behind.granted);
  }
}

}  // namespace
}  // namespace holdfast::internal::zookeeper
