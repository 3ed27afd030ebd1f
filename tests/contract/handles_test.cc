// Holds written down and taken over elsewhere.
#include "child.h"
#include "contract.h"

namespace holdfast::contract {

class HandlesTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    HOLDFAST_NEEDS(outlives_process);
  }
};
HOLDFAST_ON_EVERY_ENGINE(HandlesTest);

TEST_P(HandlesTest, ADetachedLockStaysHeldAndTheLeaseIsEmpty) {
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  const Token token = lease.token();
  const Handle handle = lease.detach().value();
  EXPECT_FALSE(static_cast<bool>(lease));
  EXPECT_EQ(handle.hold().token, token);
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
  EXPECT_EQ(outcome_of(client.release(handle)), "granted");
  expect_nothing_left(client, "x");
}

TEST_P(HandlesTest, AnAbandonedLeaseLeavesTheLockToWhoeverHasItsHandle) {
  Client client = open();
  Lease lease = client.mutex("x", {.outlives_process = true}).acquire().value();
  const Handle handle = lease.handle();
  Lease adopted = client.adopt(handle).value();
  lease.abandon();
  EXPECT_FALSE(static_cast<bool>(lease));
  EXPECT_TRUE(adopted.held());
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
  EXPECT_EQ(outcome_of(adopted.release()), "granted");
  expect_nothing_left(client, "x");
}

TEST_P(HandlesTest, ADetachedLockOutlivesItsProcess) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child child(url());
  ASSERT_THAT(child.ask("acquire x 30000"), testing::StartsWith("granted"));
  const std::string answer = child.ask("detach");
  ASSERT_THAT(answer, testing::StartsWith("handle "));
  child.kill();
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
  const Handle handle = Handle::parse(answer.substr(7)).value();
  Lease lease = client.adopt(handle).value();
  EXPECT_EQ(lease.token(), handle.hold().token);
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(outcome_of(lease.release()), "granted");
  expect_nothing_left(client, "x");
}

TEST_P(HandlesTest, AnotherProcessRenewsAndReleasesByHandle) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child child(url());
  const Handle handle = client.mutex("x").acquire().value().detach().value();
  EXPECT_EQ(child.ask("renew-handle " + handle.text()), "ok");
  EXPECT_EQ(child.ask("adopt " + handle.text()), "granted " + handle.hold().token.str());
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
  EXPECT_EQ(child.ask("release"), "ok");
  EXPECT_EQ(child.ask("release-handle " + handle.text()), "not_held");
  expect_nothing_left(client, "x");
}

TEST_P(HandlesTest, AnAdoptedLockIsRenewed) {
  Client client = open();
  const Handle handle = client.mutex("x", brief()).acquire().value().detach().value();
  const Lease lease = client.adopt(handle).value();
  pause_for(2 * engine().short_ttl);
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
}

TEST_P(HandlesTest, ADetachedLockThatNobodyRenewsEndsAfterItsTtl) {
  Client client = open();
  const Handle handle = client.mutex("x", brief()).acquire().value().detach().value();
  const Result<Lease> next = client.mutex("x").try_acquire_for(kPatience);
  ASSERT_EQ(outcome_of(next), "granted");
  EXPECT_EQ(outcome_of(client.adopt(handle)), "not_held");
  EXPECT_EQ(outcome_of(client.renew(handle)), "not_held");
  EXPECT_EQ(outcome_of(client.release(handle)), "not_held");
  EXPECT_TRUE(next->held());
  EXPECT_EQ(holders(client, "x"), 1U);
}

// Expired, but nobody came: the hold is over all the same, or two processes could disagree on it.
TEST_P(HandlesTest, AnExpiredHandleCannotBeAdoptedEvenIfTheLockIsFree) {
  Client client = open();
  const Handle handle = client.mutex("x", brief()).acquire().value().detach().value();
  ASSERT_TRUE(eventually([&] { return holders(client, "x") == 0; }));
  EXPECT_EQ(outcome_of(client.adopt(handle)), "not_held");
  EXPECT_EQ(outcome_of(client.renew(handle)), "not_held");
  expect_nothing_left(client, "x");
}

TEST_P(HandlesTest, AReleasedHandleIsDead) {
  Client client = open();
  const Handle handle = client.mutex("x").acquire().value().detach().value();
  ASSERT_TRUE(client.release(handle));
  EXPECT_EQ(outcome_of(client.release(handle)), "not_held");
  EXPECT_EQ(outcome_of(client.renew(handle)), "not_held");
  EXPECT_EQ(outcome_of(client.adopt(handle)), "not_held");
  expect_nothing_left(client, "x");
}

TEST_P(HandlesTest, ReadersAndPermitsCanBeDetachedToo) {
  HOLDFAST_NEEDS(shared_mode);
  HOLDFAST_NEEDS(permit_mode);
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child child(url());
  const Handle reader = client.shared_mutex("r").acquire_shared().value().detach().value();
  const Handle permit = client.semaphore("p", 2).acquire().value().detach().value();
  for (const Handle& handle : {reader, permit}) {
    EXPECT_EQ(outcome_of(client.mutex(handle.hold().claim.name).try_acquire()), "busy");
    EXPECT_EQ(child.ask("renew-handle " + handle.text()), "ok");
    EXPECT_EQ(child.ask("release-handle " + handle.text()), "ok");
    expect_nothing_left(client, handle.hold().claim.name);
  }
}

TEST_P(HandlesTest, AHoldTakenForAScriptOutlivesItsProcessAndLastsItsTtl) {
  Client watcher = open();
  std::optional<Handle> handle;
  {
    Client client = open();
    handle = client.mutex("x", {.ttl = 30s}).acquire_detached({}).value();
  }
  pause_for(50ms);
  EXPECT_EQ(outcome_of(watcher.mutex("x").try_acquire()), "busy");
  EXPECT_EQ(outcome_of(watcher.release(*handle)), "granted");
}

// The same after a wait. Nobody renews it, so it must be worth a whole ttl from the beginning.
TEST_P(HandlesTest, AHoldTakenForAScriptLastsItsTtlAlsoWhenItHadToWait) {
  Client client = open();
  Mutex mutex = client.mutex("x", {.ttl = 5s});
  Lease first = mutex.acquire().value();
  auto waiting = std::async(std::launch::async, [&] { return mutex.acquire_detached({}); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  ASSERT_TRUE(first.release());
  const Handle handle = waiting.get().value();
  pause_for(2s);
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy") << "it ended before its ttl";
  EXPECT_EQ(outcome_of(client.renew(handle)), "granted");
}

TEST_P(HandlesTest, AHandleWithAnAbsurdTtlIsRefused) {
  Client client = open();
  const Handle handle = client.mutex("x").acquire().value().detach().value();
  for (const Duration ttl : {Duration(0), Duration(-1s), Duration::min(), Duration::max()}) {
    Hold changed = handle.hold();
    changed.claim.ttl = ttl;
    EXPECT_EQ(outcome_of(client.renew(Handle(changed))), "invalid_argument") << ttl.count();
    EXPECT_EQ(outcome_of(client.adopt(Handle(changed))), "invalid_argument") << ttl.count();
  }
  EXPECT_EQ(outcome_of(client.renew(handle)), "granted") << "the true handle stays good";
}

}  // namespace holdfast::contract
