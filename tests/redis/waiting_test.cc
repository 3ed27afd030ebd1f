// The queue: who is dead is passed over at once, who comes late stays behind, and a grant that
// nobody wants any more is nobody's.
#include "child.h"
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

using contract::Child;

// The time that a push takes on a busy machine; far less than any ttl or poll here.
constexpr Duration kAtOnce = 200ms;

class RedisWaiting : public testing::Test {
 protected:
  // Waits for "x" in a thread, and returns when it stands in the queue.
  Pending queue_up(Client& client, const LockOptions& options = kLong) {
    const std::size_t before = waiters(watcher_, "x");
    Pending waiting =
        in_thread([&client, options] { return client.mutex("x", options).try_acquire_for(30s); });
    EXPECT_TRUE(eventually([&] { return waiters(watcher_, "x") == before + 1; }));
    return waiting;
  }
  Lease hold(const LockOptions& options = kLong) {
    return holder_.mutex("x", options).try_acquire().value();
  }
  Client client() const { return open(server_.url()); }

  RedisServer server_;
  Client holder_ = open(server_.url());
  Client watcher_ = open(server_.url());
};

// ---- Dead waiters ------------------------------------------------------------------------------

TEST_F(RedisWaiting, KilledWaitersArePassedOverAtOnce) {
  Lease lease = hold();
  Child first(server_.url());
  Child second(server_.url());
  for (Child* child : {&first, &second}) child->send(Child::command("acquire", "x", 30s));
  ASSERT_TRUE(eventually([&] { return waiters(watcher_, "x") == 2; }));
  Client living = client();
  Pending waiting = queue_up(living);
  first.kill();
  second.kill();
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease.release()), "granted");
  EXPECT_EQ(told(waiting.get()), "granted");
  EXPECT_LT(since(released), kAtOnce);
}

TEST_F(RedisWaiting, WaitersThatWereCutOffArePassedOverAtOnce) {
  Lease lease = hold();
  Proxy proxy(server_.port());
  Client cut_off = open(url_of(proxy));
  Pending lost = queue_up(cut_off);
  Client living = client();
  Pending waiting = queue_up(living);
  proxy.refuse(true);
  proxy.reset();
  ASSERT_TRUE(eventually([&] {
    return server_.command({"PUBSUB", "CHANNELS", "holdfast:*"}).find('\n') == std::string::npos;
  }));
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease.release()), "granted");
  Result<Lease> got = waiting.get();
  EXPECT_EQ(told(got), "granted");
  EXPECT_LT(since(released), kAtOnce);
  // The one that was passed over comes back, and stands in line again.
  proxy.refuse(false);
  ASSERT_TRUE(eventually([&] { return waiters(watcher_, "x") == 1; }));
  ASSERT_EQ(told(got->release()), "granted");
  EXPECT_EQ(told(lost.get()), "granted");
}

TEST_F(RedisWaiting, AQueueOfTheDeadIsNoQueue) {
  Lease lease = hold();
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 5; ++i) {
    children.push_back(std::make_unique<Child>(server_.url()));
    children.back()->send(Child::command(i % 2 == 0 ? "acquire" : "shared", "x", 30s));
  }
  ASSERT_TRUE(eventually([&] { return waiters(watcher_, "x") == 5; }));
  for (const auto& child : children) child->kill();
  ASSERT_EQ(told(lease.release()), "granted");
  Client newcomer = client();
  EXPECT_EQ(told(newcomer.mutex("x", kLong).try_acquire()), "granted");
  EXPECT_EQ(waiters(watcher_, "x"), 0U);
}

// ---- The end of a holder -----------------------------------------------------------------------

TEST_F(RedisWaiting, WhenTheHolderExpiresTheHeadOfTheQueueWins) {
  for (int round = 0; round < 5; ++round) {
    Lease lease = hold({.ttl = 300ms, .auto_renew = false});
    Client head = client();
    Pending waiting = queue_up(head);
    Client newcomer = client();
    // Tries as often as it can: in the moment of the expiry, too.
    bool barged = false;
    while (!contract::is_ready(waiting)) {
      barged = barged || newcomer.mutex("x", kLong).try_acquire().ok();
    }
    EXPECT_FALSE(barged);
    EXPECT_EQ(told(waiting.get()), "granted");
  }
}

// ---- Cost --------------------------------------------------------------------------------------

TEST_F(RedisWaiting, AHandOffCostsAtMostThreeCommands) {
  constexpr int kWaiters = 8;
  constexpr int kEach = 40;
  Client crowd = client();
  Lease lease = hold();
  std::vector<std::jthread> threads;
  std::atomic<int> passed = 0;
  for (int t = 0; t < kWaiters; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        Result<Lease> mine = crowd.mutex("x", kLong).acquire();
        EXPECT_EQ(told(mine), "granted");
        ++passed;
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return waiters(watcher_, "x") == kWaiters; }));
  const long long before = server_.commands_sent();
  ASSERT_EQ(told(lease.release()), "granted");
  threads.clear();
  const long long commands = server_.commands_sent() - before;
  ASSERT_EQ(passed, kWaiters * kEach);
  EXPECT_LE(commands, 3 * kWaiters * kEach) << "for " << kWaiters * kEach << " hand-offs";
}

TEST_F(RedisWaiting, WaitersForALongHolderAskSeldom) {
  Lease lease = hold();
  std::vector<Client> clients;
  std::vector<Pending> pending;
  for (int i = 0; i < 4; ++i) clients.push_back(client());
  for (Client& each : clients) pending.push_back(queue_up(each));
  const long long before = server_.commands_sent();
  pause_for(2s);
  const long long commands = server_.commands_sent() - before;
  // A ping a second each.
  EXPECT_LE(commands, 4 * 4);
  ASSERT_EQ(told(lease.release()), "granted");
  for (Pending& each : pending) EXPECT_EQ(told(each.get()), "granted");
}

TEST_F(RedisWaiting, AForeignLockIsOursAtOnceWhenItIsDeleted) {
  // However much it looks like one of ours.
  for (const std::string value : {"somebody", "a b", "0123456789abcdef x"}) {
    ASSERT_EQ(server_.command({"SET", "x", value, "PX", "60000"}), "OK");
    Client ours = client();
    Pending waiting = queue_up(ours);
    Client behind = client();
    Pending second = queue_up(behind);
    pause_for(100ms);
    const long long before = server_.commands_sent();
    pause_for(1s);
    EXPECT_LE(server_.commands_sent() - before, 20) << value;
    const BootTime deleted = BootClock::now();
    ASSERT_EQ(server_.command({"DEL", "x"}), "1");
    Result<Lease> lease = waiting.get();
    EXPECT_EQ(told(lease), "granted");
    EXPECT_LT(since(deleted), kAtOnce) << value;
    ASSERT_EQ(told(lease->release()), "granted");
    EXPECT_EQ(told(second.get()), "granted");
  }
}

// ---- Grants that cross with a change of mind ---------------------------------------------------

TEST_F(RedisWaiting, AGrantThatCrossesWithACancellationIsNobodys) {
  Dice dice;
  SCOPED_TRACE(dice.describe());
  Client ours = client();
  int granted = 0;
  constexpr int kRounds = 150;
  for (int round = 0; round < kRounds; ++round) {
    Lease lease = hold();
    std::stop_source stop;
    Pending waiting = in_thread([&] { return ours.mutex("x", kLong).acquire(stop.get_token()); });
    pause_for(std::chrono::microseconds(300 + dice.below(700)));
    const std::chrono::microseconds lag(dice.below(400));
    std::jthread canceller([&] {
      pause_for(lag);
      stop.request_stop();
    });
    ASSERT_EQ(told(lease.release()), "granted");
    Result<Lease> outcome = waiting.get();
    if (outcome) {
      ++granted;
      ASSERT_EQ(told(outcome->release()), "granted");
    } else {
      ASSERT_EQ(outcome_of(outcome), "cancelled");
    }
    ASSERT_EQ(server_.command({"EXISTS", "x", "{x}:hf:q"}), "0") << "round " << round;
  }
  EXPECT_GT(granted, 0);
  EXPECT_LT(granted, kRounds);
}

TEST_F(RedisWaiting, AGrantThatCrossesWithATimeOutIsNobodys) {
  Dice dice;
  SCOPED_TRACE(dice.describe());
  Client ours = client();
  int granted = 0;
  constexpr int kRounds = 150;
  for (int round = 0; round < kRounds; ++round) {
    Lease lease = hold();
    const std::chrono::microseconds patience(1500 + dice.below(1500));
    Pending waiting = in_thread([&] { return ours.mutex("x", kLong).try_acquire_for(patience); });
    pause_for(std::chrono::microseconds(1500 + dice.below(1500)));
    ASSERT_EQ(told(lease.release()), "granted");
    Result<Lease> outcome = waiting.get();
    if (outcome) {
      ++granted;
      ASSERT_EQ(told(outcome->release()), "granted");
    } else {
      ASSERT_EQ(outcome_of(outcome), "busy");
    }
    ASSERT_EQ(server_.command({"EXISTS", "x", "{x}:hf:q"}), "0") << "round " << round;
  }
  EXPECT_GT(granted, 0);
  EXPECT_LT(granted, kRounds);
}

}  // namespace
}  // namespace holdfast::redis_tests
