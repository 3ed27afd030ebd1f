// Only the claim that holds can give back; everybody else is told so, and nothing changes.
#include <thread>

#include "contract.h"

namespace holdfast::contract {

namespace {

// (A session that the server is about to end may be shown beside the one that has its lock.)
bool is_held_only_by(Client& client, const Name& name, Token token) {
  const LockInfo info = client.inspect(name).value();
  return info.holders.size() == 1 && info.holders[0].token == token;
}

}  // namespace

HOLDFAST_CONTRACT(OwnershipTest);

TEST_P(OwnershipTest, ReleaseByAnExpiredHolderLeavesTheSuccessorAlone) {
  Client one = open();
  Client two = open();
  Lease expired = one.mutex("x", fading()).acquire().value();
  const Lease successor = two.mutex("x").acquire().value();  // Waits for the ttl.
  EXPECT_FALSE(expired.held());
  EXPECT_EQ(outcome_of(expired.release()), "not_held");
  EXPECT_TRUE(successor.held());
  EXPECT_TRUE(eventually([&] { return is_held_only_by(one, "x", successor.token()); }));
  EXPECT_EQ(outcome_of(one.mutex("x").try_acquire()), "busy");
}

TEST_P(OwnershipTest, TheDestructorOfAnExpiredLeaseLeavesTheSuccessorAlone) {
  Client one = open();
  Client two = open();
  Lease successor;
  {
    const Lease expired = one.mutex("x", fading()).acquire().value();
    successor = two.mutex("x").acquire().value();
  }
  EXPECT_EQ(outcome_of(one.mutex("x").try_acquire()), "busy");
  EXPECT_EQ(outcome_of(successor.renew()), "granted");
}

TEST_P(OwnershipTest, RenewalByAnExpiredHolderDoesNotTakeTheLockBack) {
  Client one = open();
  Client two = open();
  Lease expired = one.mutex("x", fading()).acquire().value();
  const Lease successor = two.mutex("x").acquire().value();
  EXPECT_EQ(outcome_of(expired.renew()), "not_held");
  EXPECT_FALSE(expired.held());
  EXPECT_TRUE(eventually([&] { return is_held_only_by(one, "x", successor.token()); }));
}

TEST_P(OwnershipTest, ReleaseByAnotherOwnerIsRefused) {
  Client one = open();
  Client two = open();
  const Lease lease = one.mutex("x").acquire().value();
  // Everything right but the claim's id, which is the owner's secret.
  Hold forged{Claim{.name = "x", .ttl = 30s}, lease.token()};
  EXPECT_EQ(outcome_of(two.release(Handle(forged))), "not_held");
  EXPECT_EQ(outcome_of(two.renew(Handle(forged))), "not_held");
  EXPECT_EQ(outcome_of(two.adopt(Handle(forged))), "not_held");
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(outcome_of(two.mutex("x").try_acquire()), "busy");
}

TEST_P(OwnershipTest, ASecondReleaseSaysThatTheLeaseIsEmpty) {
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  EXPECT_EQ(outcome_of(lease.release()), "granted");
  const Lease other = client.mutex("x").acquire().value();
  EXPECT_EQ(outcome_of(lease.release()), "closed");
  EXPECT_TRUE(other.held());
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
}

TEST_P(OwnershipTest, AnEmptyLeaseRefusesEveryCallAndHoldsNothing) {
  Client client = open();
  Lease released = client.mutex("x").acquire().value();
  ASSERT_TRUE(released.release());
  Lease never;
  Lease source = client.mutex("y").acquire().value();
  const Lease target = std::move(source);
  for (Lease* empty : {&released, &never, &source}) {
    EXPECT_FALSE(static_cast<bool>(*empty));
    EXPECT_FALSE(empty->held());
    EXPECT_EQ(outcome_of(empty->release()), "closed");
    EXPECT_EQ(outcome_of(empty->renew()), "closed");
    EXPECT_EQ(outcome_of(empty->detach()), "closed");
    EXPECT_EQ(thrown_by([&] { static_cast<void>(empty->token()); }), "closed");
    EXPECT_EQ(thrown_by([&] { static_cast<void>(empty->name()); }), "closed");
    EXPECT_EQ(thrown_by([&] { static_cast<void>(empty->valid_until()); }), "closed");
    EXPECT_EQ(thrown_by([&] { static_cast<void>(empty->lost()); }), "closed");
    EXPECT_EQ(outcome_of(empty->async_release().get()), "closed");
  }
  EXPECT_TRUE(target.held());
}

TEST_P(OwnershipTest, AnyThreadMayReleaseALease) {
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  std::thread([moved = std::move(lease)]() mutable {
    EXPECT_EQ(outcome_of(moved.release()), "granted");
  }).join();
  expect_nothing_left(client, "x");
}

TEST_P(OwnershipTest, ReleaseAndRenewalAtTheSameMomentNeverResurrect) {
  Client client = open();
  Dice dice;
  SCOPED_TRACE(dice.describe());
  // A ttl so short that a background renewal is often under way when it is released.
  const Duration ttl = std::max<Duration>(200ms, client.guarantees().min_ttl);
  const int rounds = ttl > 1s ? 8 : 40;
  for (int i = 0; i < rounds; ++i) {
    Lease lease = client.mutex("x", {.ttl = ttl}).acquire().value();
    pause_for(ttl * (3000 + static_cast<int>(dice.below(750))) / 10'000);
    static_cast<void>(lease.release());
    ASSERT_EQ(holders(client, "x"), 0U) << "round " << i;
  }
  pause_for(100ms);
  expect_nothing_left(client, "x");
}

}  // namespace holdfast::contract
