// LockOptions::keep: held at least so long, whoever gives it back or dies.
#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(KeepTest);

namespace {

LockOptions kept(Duration ttl, Duration keep) {
  LockOptions options;
  options.ttl = ttl;
  options.keep = keep;
  return options;
}

}  // namespace

TEST_P(KeepTest, ALockThatIsGivenBackSoonerStaysHeldUntilThen) {
  if (!engine().outlives_process) GTEST_SKIP() << "a lock ends with its connection";
  const Duration keep = engine().short_ttl + 1s;
  Client client = open();
  Client other = open();
  const BootTime asked = BootClock::now();
  {
    Lease lease = client.mutex("x", kept(engine().short_ttl, keep)).acquire().value();
    EXPECT_EQ(outcome_of(lease.release()), "granted");
    EXPECT_FALSE(lease.held());
  }
  EXPECT_EQ(outcome_of(other.mutex("x", brief()).try_acquire()), "busy");
  Result<Lease> next = other.mutex("x", brief()).try_acquire_for(kPatience);
  ASSERT_EQ(outcome_of(next), "granted");
  EXPECT_GE(BootClock::now() - asked, keep);
}

TEST_P(KeepTest, SoDoesOneWhoseClientIsGone) {
  if (!engine().outlives_process) GTEST_SKIP() << "a lock ends with its connection";
  const Duration keep = engine().short_ttl + 1s;
  const BootTime asked = BootClock::now();
  {
    Client client = open();
    const Lease lease = client.mutex("x", kept(engine().short_ttl, keep)).acquire().value();
  }
  Client other = open();
  ASSERT_EQ(outcome_of(other.mutex("x", brief()).try_acquire_for(kPatience)), "granted");
  EXPECT_GE(BootClock::now() - asked, keep);
}

TEST_P(KeepTest, AfterThatTimeItIsRenewedAndGivenBackAsAnyOther) {
  if (!engine().outlives_process) GTEST_SKIP() << "a lock ends with its connection";
  Client client = open();
  Client other = open();
  Lease lease = client.mutex("x", kept(engine().short_ttl, 100ms)).acquire().value();
  pause_for(2 * engine().short_ttl);
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(outcome_of(other.mutex("x", brief()).try_acquire()), "busy");
  EXPECT_EQ(outcome_of(lease.release()), "granted");
  EXPECT_EQ(outcome_of(other.mutex("x", brief()).try_acquire()), "granted");
}

TEST_P(KeepTest, IsRefusedWhereALockEndsWithItsConnection) {
  if (engine().outlives_process) GTEST_SKIP() << "it does not";
  Client client = open();
  EXPECT_EQ(outcome_of(client.mutex("x", kept(engine().short_ttl, 1s)).try_acquire()),
            "unsupported");
  EXPECT_EQ(outcome_of(client.mutex("x", brief()).try_acquire()), "granted");
}

}  // namespace holdfast::contract
