// A lease that never lies: renewed while it can be, lost in time, and then for good.
#include "child.h"
#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(LeaseTest);

TEST_P(LeaseTest, RenewalKeepsALeaseForManyTtls) {
  Client one = open();
  Client two = open();
  const Lease lease = one.mutex("x", brief()).acquire().value();
  const BootTime end = BootClock::now() + 3 * engine().short_ttl;
  BootTime valid_until = lease.valid_until();
  while (BootClock::now() < end) {
    ASSERT_TRUE(lease.held());
    ASSERT_EQ(outcome_of(two.mutex("x").try_acquire()), "busy");
    ASSERT_GE(lease.valid_until(), valid_until);
    valid_until = lease.valid_until();
    pause_for(10ms);
  }
  EXPECT_FALSE(lease.lost().stop_requested());
}

TEST_P(LeaseTest, HundredsOfLeasesAreRenewedTogether) {
  Client client = open();
  std::vector<Lease> leases;
  for (int i = 0; i < 400; ++i) {
    leases.push_back(
        client.mutex("x" + std::to_string(i), {.ttl = 3 * engine().short_ttl}).acquire().value());
  }
  pause_for(4 * engine().short_ttl);
  for (const Lease& lease : leases) ASSERT_TRUE(lease.held()) << lease.name().display();
  EXPECT_EQ(client.list("x").value().size(), leases.size());
}

TEST_P(LeaseTest, WithoutRenewalALeaseEndsAfterItsTtl) {
  Client client = open();
  const Lease lease = client.mutex("x", fading()).acquire().value();
  EXPECT_TRUE(lease.held());
  EXPECT_TRUE(eventually([&] { return !lease.held(); }));
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_TRUE(eventually([&] { return client.mutex("x").try_acquire().ok(); }));
}

TEST_P(LeaseTest, ARenewalByHandKeepsALeaseThatIsNotRenewed) {
  Client client = open();
  Lease lease = client.mutex("x", fading()).acquire().value();
  for (int i = 0; i < 8; ++i) {
    pause_for(engine().short_ttl / 4);
    const BootTime before = lease.valid_until();
    ASSERT_EQ(outcome_of(lease.renew()), "granted");
    EXPECT_GT(lease.valid_until(), before);
  }
  EXPECT_TRUE(lease.held());
}

// A waiter is told of its grant by somebody else. Its lease must be worth a whole ttl all the same.
TEST_P(LeaseTest, ALeaseFromTheQueueLastsItsWholeTtlWithoutRenewal) {
  Client client = open();
  Mutex mutex = client.mutex("x", {.ttl = 5s, .auto_renew = false});
  Lease first = mutex.acquire().value();
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  ASSERT_TRUE(first.release());
  const Result<Lease> lease = waiting.get();
  ASSERT_EQ(outcome_of(lease), "granted");
  pause_for(2s);
  EXPECT_TRUE(lease->held()) << "valid only for a part of its ttl";
  EXPECT_FALSE(lease->lost().stop_requested());
}

TEST_P(LeaseTest, ValidUntilIsNeverLaterThanTheTtlAllows) {
  Client client = open();
  Mutex mutex = client.mutex("x", brief());
  const Duration drift = engine().short_ttl / 100 + 2ms;
  const BootTime before = BootClock::now();
  Lease lease = mutex.acquire().value();
  EXPECT_LE(lease.valid_until(), BootClock::now() + engine().short_ttl - drift);
  EXPECT_GE(lease.valid_until(), before);
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  ASSERT_TRUE(lease.release());
  const Result<Lease> pushed = waiting.get();
  ASSERT_EQ(outcome_of(pushed), "granted");
  const BootTime end = BootClock::now() + engine().short_ttl;
  while (BootClock::now() < end) {
    const BootTime valid_until = pushed->valid_until();  // Read before the clock is.
    ASSERT_LE(valid_until, BootClock::now() + engine().short_ttl - drift);
  }
}

TEST_P(LeaseTest, LostFiresBeforeValidUntilPasses) {
  Client client = open();
  LockOptions options = fading();
  options.warn_before = options.ttl / 2;
  const Lease lease = client.mutex("x", options).acquire().value();
  std::promise<BootTime> fired;
  bool held = true;
  const std::stop_callback callback(lease.lost(), [&] {
    held = lease.held();
    fired.set_value(BootClock::now());
  });
  std::future<BootTime> when = fired.get_future();
  ASSERT_TRUE(arrives(when));
  const BootTime moment = when.get();
  EXPECT_LT(moment, lease.valid_until());
  EXPECT_GE(moment, lease.valid_until() - *options.warn_before);
  EXPECT_FALSE(held) << "held() says yes after lost() has fired";
}

// Callbacks may block (async.h). The signal that a lock is lost must not wait behind them.
TEST_P(LeaseTest, ABlockedCallbackDoesNotDelayTheSignalOfALoss) {
  Client client = open();
  LockOptions options = fading();
  options.warn_before = options.ttl / 2;
  const Lease lease = client.mutex("x", options).acquire().value();
  std::promise<void> let_go;
  std::promise<void> ended;
  client.mutex("y").async_acquire().then([&](Result<Lease>) {
    let_go.get_future().wait();
    ended.set_value();
  });
  while (BootClock::now() < lease.valid_until() && !lease.lost().stop_requested()) pause_for(1ms);
  EXPECT_TRUE(lease.lost().stop_requested());
  let_go.set_value();
  ended.get_future().wait();
}

TEST_P(LeaseTest, ALostLeaseNeverComesBack) {
  Client client = open();
  Lease lease = client.mutex("x", fading()).acquire().value();
  ASSERT_TRUE(eventually([&] { return !lease.held(); }));
  EXPECT_EQ(outcome_of(lease.renew()), "not_held");
  for (int i = 0; i < 50; ++i) {
    ASSERT_FALSE(lease.held());
    pause_for(1ms);
  }
  EXPECT_EQ(outcome_of(lease.detach()), "not_held");
  EXPECT_EQ(outcome_of(lease.release()), "not_held");
}

TEST_P(LeaseTest, EvictionIsNoticedAtTheNextRenewal) {
  Client one = open();
  Client two = open();
  Lease lease = one.mutex("x", brief()).acquire().value();
  ASSERT_TRUE(two.evict("x", lease.token()));
  const Lease other = two.mutex("x").try_acquire().value();
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_FALSE(lease.held());
  EXPECT_EQ(outcome_of(lease.release()), "not_held");
  EXPECT_TRUE(other.held());
  EXPECT_EQ(outcome_of(one.mutex("x").try_acquire()), "busy");
}

TEST_P(LeaseTest, ARenewalByHandOfAnEvictedLeaseTellsAndDeclaresItLost) {
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  ASSERT_TRUE(client.evict("x", lease.token()));
  EXPECT_EQ(outcome_of(lease.renew()), "not_held");
  EXPECT_FALSE(lease.held());
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  expect_nothing_left(client, "x");
}

TEST_P(LeaseTest, AStoppedHolderFindsItsLeaseLostWhenItGoesOn) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child child(url());
  ASSERT_THAT(child.ask(Child::command("acquire", "x", engine().short_ttl)),
              testing::StartsWith("granted"));
  child.stop();
  Result<Lease> next = client.mutex("x").try_acquire_for(kPatience);
  ASSERT_EQ(outcome_of(next), "granted") << "a stopped holder kept the lock beyond its ttl";
  child.send("held");  // The first thing that it does when it goes on.
  child.resume();
  EXPECT_EQ(child.answer(), "no");
  EXPECT_EQ(child.ask("await-lost 20000"), "lost");
  EXPECT_EQ(child.ask("renew"), "not_held");
  EXPECT_EQ(child.ask("held"), "no");
  EXPECT_EQ(child.ask("release"), "not_held");
  EXPECT_TRUE(next->held());
  EXPECT_EQ(holders(client, "x"), 1U);
  EXPECT_EQ(outcome_of(next->release()), "granted");
}

TEST_P(LeaseTest, AHolderStoppedForLessThanItsTtlKeepsTheLock) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child child(url());
  ASSERT_THAT(child.ask("acquire x 10000"), testing::StartsWith("granted"));
  child.stop();
  pause_for(100ms);
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
  child.resume();
  EXPECT_EQ(child.ask("held"), "yes");
  EXPECT_EQ(child.ask("release"), "ok");
}

}  // namespace holdfast::contract
