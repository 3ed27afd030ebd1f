// One holder at a time, whoever asks.
#include "child.h"
#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(ExclusionTest);

TEST_P(ExclusionTest, AHeldLockIsBusyForAnotherClient) {
  Client one = open();
  Client two = open();
  const Lease lease = one.mutex("x").acquire().value();
  EXPECT_EQ(outcome_of(two.mutex("x").try_acquire()), "busy");
}

// The owner is the lease, not the client or the thread: a second claim of the same client is
// somebody else's.
TEST_P(ExclusionTest, AHeldLockIsBusyForTheSameClientAndThread) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  const Lease lease = mutex.acquire().value();
  EXPECT_EQ(outcome_of(mutex.try_acquire()), "busy");
  EXPECT_TRUE(lease.held());
}

TEST_P(ExclusionTest, AHeldLockIsBusyForAnotherProcessAndTheOtherWayRound) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child child(url());
  {
    const Lease lease = client.mutex("x").acquire().value();
    EXPECT_EQ(child.ask("try x 30000"), "busy");
  }
  EXPECT_THAT(child.ask("try x 30000"), testing::StartsWith("granted"));
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
}

TEST_P(ExclusionTest, DifferentNamesDoNotExcludeEachOther) {
  Client client = open();
  const Lease x = client.mutex("x").acquire().value();
  const Result<Lease> y = client.mutex("y").try_acquire();
  EXPECT_EQ(outcome_of(y), "granted");
}

TEST_P(ExclusionTest, AReleasedLockCanBeTakenAtOnceByAnybody) {
  Client one = open();
  Client two = open();
  Lease lease = one.mutex("x").acquire().value();
  EXPECT_EQ(outcome_of(lease.release()), "granted");
  EXPECT_EQ(outcome_of(two.mutex("x").try_acquire()), "granted");
  EXPECT_EQ(outcome_of(one.mutex("x").try_acquire()), "granted");
}

TEST_P(ExclusionTest, ADestroyedLeaseFreesTheLock) {
  Client client = open();
  {
    const Lease lease = client.mutex("x").acquire().value();
  }
  expect_nothing_left(client, "x");
}

TEST_P(ExclusionTest, BusyTellsWhoHoldsAndForHowLong) {
  Client one = open({.label = "the first"});
  Client two = open();
  const Lease lease = one.mutex("x", {.ttl = 30s}).acquire().value();
  const Result<Lease> refused = two.mutex("x").try_acquire();
  ASSERT_EQ(outcome_of(refused), "busy");
  ASSERT_EQ(refused.outcome(), Outcome::busy);
  const Busy* busy = refused.failure().busy();
  ASSERT_NE(busy, nullptr);
  EXPECT_EQ(busy->holder, "the first");
  EXPECT_EQ(busy->token, lease.token().value());
  EXPECT_EQ(busy->rank, 0U);
  ASSERT_TRUE(busy->expires_in.has_value());
  EXPECT_GT(*busy->expires_in, 0s);
  EXPECT_LE(*busy->expires_in, 30s);
  EXPECT_THAT(refused.message(), testing::HasSubstr("the first"));
}

TEST_P(ExclusionTest, MovingALeaseMovesTheLock) {
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  const Token token = lease.token();
  Lease moved = std::move(lease);
  EXPECT_FALSE(static_cast<bool>(lease));  // NOLINT(bugprone-use-after-move): the point
  EXPECT_EQ(moved.token(), token);
  EXPECT_TRUE(moved.held());
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
}

TEST_P(ExclusionTest, AssigningToALeaseReleasesWhatItHeld) {
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  lease = client.mutex("y").acquire().value();
  EXPECT_EQ(lease.name(), Name("y"));
  expect_nothing_left(client, "x");
  EXPECT_EQ(outcome_of(client.mutex("y").try_acquire()), "busy");
}

TEST_P(ExclusionTest, ALeaseLivesOnAfterItsClientAndMutexAreGone) {
  Client watcher = open();
  Lease lease;
  {
    Client client = open();
    lease = client.mutex("x", brief()).acquire().value();
  }
  pause_for(2 * engine().short_ttl);
  EXPECT_TRUE(lease.held()) << "renewal stopped with the client object";
  EXPECT_EQ(outcome_of(watcher.mutex("x").try_acquire()), "busy");
  EXPECT_EQ(outcome_of(lease.release()), "granted");
  expect_nothing_left(watcher, "x");
}

}  // namespace holdfast::contract
