// Cancellation and time-outs at every moment of a wait: they leave nothing behind.
#include "child.h"
#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(CancellingTest);

TEST_P(CancellingTest, AStopTokenEndsAWait) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease lease = mutex.acquire().value();
  std::stop_source stop;
  Pending forever = in_thread([&] { return mutex.acquire(stop.get_token()); });
  Pending timed = in_thread([&] { return mutex.try_acquire_for(1h, stop.get_token()); });
  ASSERT_TRUE(queue_reaches(client, "x", 2));
  stop.request_stop();
  ASSERT_TRUE(arrives(forever));
  ASSERT_TRUE(arrives(timed));
  EXPECT_EQ(outcome_of(forever.get()), "cancelled");
  EXPECT_EQ(outcome_of(timed.get()), "cancelled");
  EXPECT_EQ(waiters(client, "x"), 0U);
  EXPECT_TRUE(lease.held());
  ASSERT_TRUE(lease.release());
  expect_nothing_left(client, "x");
}

TEST_P(CancellingTest, AStopTokenThatWasTriggeredBeforeTheCallEndsItAtOnce) {
  Client client = open();
  const Lease lease = client.mutex("x").acquire().value();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(outcome_of(client.mutex("x").acquire(stop.get_token())), "cancelled");
  EXPECT_EQ(waiters(client, "x"), 0U);
}

TEST_P(CancellingTest, ACancelledWaiterDoesNotHoldUpThoseBehindIt) {
  Client one = open();
  Client two = open();
  Lease lease = one.mutex("x").acquire().value();
  Mutex mutex = two.mutex("x");
  std::stop_source stop;
  Pending head = in_thread([&] { return mutex.acquire(stop.get_token()); });
  ASSERT_TRUE(queue_reaches(one, "x", 1));
  Pending next = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(one, "x", 2));
  stop.request_stop();
  EXPECT_EQ(outcome_of(head.get()), "cancelled");
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(next));
  EXPECT_EQ(outcome_of(next.get()), "granted");
}

// A grant that races a cancellation is either delivered or given back; never lost, and the push
// that comes afterwards wakes nobody.
TEST_P(CancellingTest, CancellationAtARandomMomentLeavesNothingBehind) {
  Client one = open();
  Client two = open();
  Dice dice;
  SCOPED_TRACE(dice.describe());
  int granted = 0;
  for (int i = 0; i < 80; ++i) {
    Lease lease = one.mutex("x").acquire().value();
    std::stop_source stop;
    Mutex mutex = two.mutex("x");
    Pending waiting = in_thread([&] { return mutex.acquire(stop.get_token()); });
    const std::chrono::microseconds release_at(dice.below(1500));
    const std::chrono::microseconds stop_at(dice.below(1500));
    std::thread stopper([&] {
      pause_for(stop_at);
      stop.request_stop();
    });
    pause_for(release_at);
    ASSERT_TRUE(lease.release()) << "round " << i;
    ASSERT_TRUE(arrives(waiting)) << "round " << i;
    stopper.join();
    {
      const Result<Lease> outcome = waiting.get();
      ASSERT_THAT(outcome_of(outcome), testing::AnyOf("granted", "cancelled")) << "round " << i;
      if (outcome) ++granted;
    }
    expect_nothing_left(one, "x");
    ASSERT_FALSE(HasFailure()) << "round " << i;
  }
  RecordProperty("granted", granted);
}

TEST_P(CancellingTest, ATimeOutAtARandomMomentLeavesNothingBehind) {
  Client one = open();
  Client two = open();
  Dice dice;
  SCOPED_TRACE(dice.describe());
  int granted = 0;
  for (int i = 0; i < 80; ++i) {
    Lease lease = one.mutex("x").acquire().value();
    Mutex mutex = two.mutex("x");
    const std::chrono::microseconds patience(dice.below(1500));
    Pending waiting = in_thread([&] { return mutex.try_acquire_for(patience); });
    pause_for(std::chrono::microseconds(dice.below(1500)));
    ASSERT_TRUE(lease.release()) << "round " << i;
    ASSERT_TRUE(arrives(waiting)) << "round " << i;
    {
      const Result<Lease> outcome = waiting.get();
      ASSERT_THAT(outcome_of(outcome), testing::AnyOf("granted", "busy")) << "round " << i;
      if (outcome) ++granted;
    }
    expect_nothing_left(one, "x");
    ASSERT_FALSE(HasFailure()) << "round " << i;
  }
  RecordProperty("granted", granted);
}

// Many waiters, of several clients, cancelled at random while the lock goes round among them.
TEST_P(CancellingTest, RandomCancellationInALongQueueStrandsNobody) {
  Client one = open();
  Client two = open();
  Dice dice;
  SCOPED_TRACE(dice.describe());
  constexpr int kWaiters = 40;
  std::vector<std::stop_source> stops(kWaiters);
  std::vector<Pending> line;
  Lease lease = one.mutex("x").acquire().value();
  std::atomic<int> inside = 0;
  for (int i = 0; i < kWaiters; ++i) {
    Client& client = i % 2 == 0 ? one : two;
    line.push_back(in_thread([&, i]() -> Result<Lease> {
      Result<Lease> got = client.mutex("x").acquire(stops[i].get_token());
      if (!got) return got;
      EXPECT_EQ(++inside, 1);
      pause_for(200us);
      --inside;
      if (Result<void> released = got->release(); !released) return released.failure();
      return got;
    }));
  }
  std::vector<std::size_t> victims;
  for (int i = 0; i < kWaiters / 2; ++i) victims.push_back(dice.below(kWaiters));
  const bool release_first = dice.below(2) == 0;
  if (release_first) {
    ASSERT_TRUE(lease.release());
  }
  for (const std::size_t victim : victims) {
    pause_for(std::chrono::microseconds(dice.below(500)));
    stops[victim].request_stop();
  }
  if (!release_first) {
    ASSERT_TRUE(lease.release());
  }
  for (int i = 0; i < kWaiters; ++i) {
    ASSERT_TRUE(arrives(line[i])) << "waiter " << i << " is stranded";
    const bool stopped = std::find(victims.begin(), victims.end(), i) != victims.end();
    const std::string outcome = outcome_of(line[i].get());
    if (stopped) {
      EXPECT_THAT(outcome, testing::AnyOf("granted", "cancelled"));
    } else {
      EXPECT_EQ(outcome, "granted");
    }
  }
  expect_nothing_left(one, "x");
}

}  // namespace holdfast::contract
