// Requests that were executed and never answered: the caller is not told "no", nothing is held
// twice, and nothing stays behind.
#include "contract.h"
#include "probe.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(LostReplyTest);

TEST_P(LostReplyTest, ALostReplyToAcquireIsAskedForAgainAndGivesTheSameGrant) {
  Probe probe(url());
  probe.engine->lose_acquire_replies = 3;
  const Result<Lease> lease = probe.client->mutex("x").acquire();
  ASSERT_EQ(outcome_of(lease), "granted");
  EXPECT_EQ(probe.engine->acquires, 4);
  const LockInfo info = probe.client->inspect("x").value();
  ASSERT_EQ(info.holders.size(), 1U) << "held twice";
  EXPECT_EQ(info.holders[0].token, lease->token());
  EXPECT_EQ(info.last_token, lease->token()) << "a retry drew a second token";
}

TEST_P(LostReplyTest, ALostReplyToATryIsUnknownAndCleanedUp) {
  Probe probe(url());
  Client other = open();
  probe.engine->lose_acquire_replies = 1;
  const Result<Lease> lease = probe.client->mutex("x", {.ttl = 1h}).try_acquire();
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.outcome(), Outcome::unknown) << "unknown must not be read as busy";
  EXPECT_TRUE(eventually([&] { return holders(other, "x") == 0; })) << "stranded for a ttl";
  expect_nothing_left(other, "x");
}

TEST_P(LostReplyTest, CleaningUpGoesOnWhenItsOwnRepliesAreLost) {
  Probe probe(url());
  Client other = open();
  probe.engine->lose_acquire_replies = 1;
  probe.engine->lose_releases = 3;
  EXPECT_EQ(outcome_of(probe.client->mutex("x", {.ttl = 1h}).try_acquire()), "unknown");
  EXPECT_TRUE(eventually([&] { return holders(other, "x") == 0; }));
  expect_nothing_left(other, "x");
}

TEST_P(LostReplyTest, AWaitThatEndsWhileItsReplyIsLostIsCleanedUp) {
  Probe probe(url());
  Client other = open();
  probe.engine->lose_acquire_replies = 1'000'000;
  std::stop_source stop;
  Mutex mutex = probe.client->mutex("x", {.ttl = 1h});
  Pending waiting = in_thread([&] { return mutex.acquire(stop.get_token()); });
  pause_for(30ms);
  stop.request_stop();
  ASSERT_TRUE(arrives(waiting));
  EXPECT_THAT(outcome_of(waiting.get()), testing::AnyOf("unknown", "cancelled"));
  EXPECT_TRUE(eventually([&] { return holders(other, "x") == 0; }));
  expect_nothing_left(other, "x");
}

TEST_P(LostReplyTest, ALostReplyToRenewalIsRetriedAndTheLeaseIsKept) {
  Probe probe(url());
  probe.engine->lose_renew_replies = 2;
  const Lease lease = probe.client->mutex("x", brief()).acquire().value();
  pause_for(2 * engine().short_ttl);
  EXPECT_TRUE(lease.held());
  EXPECT_FALSE(lease.lost().stop_requested());
}

TEST_P(LostReplyTest, ALeaseWhoseRenewalsAreAllUnansweredIsLostInTime) {
  Probe probe(url());
  probe.engine->lose_renew_replies = 1'000'000;
  LockOptions options = brief();
  options.warn_before = options.ttl / 2;
  const Lease lease = probe.client->mutex("x", options).acquire().value();
  const BootTime valid_until = lease.valid_until();
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.valid_until(), valid_until) << "a renewal without an answer prolongs nothing";
  EXPECT_FALSE(lease.held());
}

TEST_P(LostReplyTest, ALostReplyToReleaseIsNotReportedAsSuccess) {
  Probe probe(url());
  Client other = open();
  Lease lease = probe.client->mutex("x").acquire().value();
  probe.engine->lose_release_replies = 1;
  EXPECT_EQ(outcome_of(lease.release()), "unknown");
  EXPECT_EQ(outcome_of(lease.release()), "closed");
  expect_nothing_left(other, "x");
}

// The caller gave up, everything was cleaned up, and only then is the request executed. Nobody
// renews that hold, so it ends with its ttl.
TEST_P(LostReplyTest, AnAcquireThatIsExecutedAfterItsCleanUpEndsWithItsTtl) {
  Probe probe(url());
  Client other = open();
  probe.engine->delay_next_acquire = 100ms;
  EXPECT_EQ(outcome_of(probe.client->mutex("x", brief()).try_acquire()), "unknown");
  ASSERT_TRUE(eventually([&] { return holders(other, "x") == 1; })) << "it was never executed";
  const Result<Lease> next = other.mutex("x").try_acquire_for(kPatience);
  EXPECT_EQ(outcome_of(next), "granted");
}

}  // namespace holdfast::contract
