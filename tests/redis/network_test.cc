// Networks that lose, delay and mix up: no second hold, no stranded lock, no reply for somebody
// else.
#include <dirent.h>

#include <map>
#include <mutex>

#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

class RedisNetwork : public testing::Test {
 protected:
  // Swallows the next replies, and ends the connections once the server has executed `count`
  // commands.
  void lose_replies(Proxy& proxy, const std::function<void()>& call) {
    proxy.set(Direction::to_client, ProxyMode::drop);
    const std::int64_t before = proxy.received(Direction::to_client);
    std::jthread caller(call);
    ASSERT_TRUE(eventually([&] { return proxy.received(Direction::to_client) > before; }));
    proxy.set(Direction::to_client, ProxyMode::pass);
    proxy.reset();
  }

  RedisServer server_;
  Client watcher_ = open(server_.url());
};

// ---- Replies that are lost ---------------------------------------------------------------------

TEST_F(RedisNetwork, ALostReplyToAcquireGivesTheSameTokenAndOneHold) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  for (const bool waiting : {false, true}) {
    ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire()), "granted");
    Result<Lease> lease = Failure(Code::closed, "");
    lose_replies(proxy, [&] {
      Mutex mutex = client.mutex("x", kLong);
      lease = waiting ? mutex.try_acquire_for(10s) : mutex.try_acquire();
    });
    ASSERT_EQ(told(lease), "granted");
    EXPECT_EQ(lease->token().value(), visible_token(watcher_, "x"));
    EXPECT_EQ(watcher_.inspect("x")->last_token, lease->token()) << "it was granted twice";
    ASSERT_EQ(told(lease->release()), "granted");
    expect_free_soon(watcher_, "x", 0ms);
  }
}

TEST_F(RedisNetwork, ALostReplyToRenewAndToReleaseIsAskedForAgain) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Result<void> renewed = Failure(Code::closed, "");
  lose_replies(proxy, [&] { renewed = lease->renew(); });
  EXPECT_EQ(told(renewed), "granted");
  EXPECT_TRUE(lease->held());
  Result<void> released = Failure(Code::closed, "");
  lose_replies(proxy, [&] { released = lease->release(); });
  EXPECT_EQ(told(released), "granted");
  expect_free_soon(watcher_, "x", 0ms);
}

TEST_F(RedisNetwork, AnAcquireWhoseServerVanishesIsTakenBackWhenItIsThereAgain) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire()), "granted");
  Pending acquiring;
  for (const bool waits : {false, true}) {
    SCOPED_TRACE(waits ? "one that waits" : "one that does not wait");
    proxy.set(Direction::to_client, ProxyMode::drop);
    acquiring = in_thread([&, waits] {
      Mutex mutex = client.mutex("x", kLong);
      return waits ? mutex.try_acquire_for(10s) : mutex.try_acquire();
    });
    ASSERT_TRUE(eventually([&] { return server_.command({"EXISTS", "x"}) == "1"; }));
    proxy.refuse(true);
    proxy.set(Direction::to_client, ProxyMode::pass);
    proxy.reset();
    pause_for(100ms);
    proxy.refuse(false);
    ASSERT_TRUE(arrives(acquiring));
    Result<Lease> lease = acquiring.get();
    if (lease) {
      EXPECT_EQ(lease->token().value(), visible_token(watcher_, "x"));
      ASSERT_EQ(told(lease->release()), "granted");
    }
    expect_free_soon(watcher_, "x", 5s);  // long before the ttl of 30 s
  }
}

// ---- Replies that come late --------------------------------------------------------------------

// Every lease must have the token that everybody sees on its name: a reply that reached another
// caller would show at once.
TEST_F(RedisNetwork, LateRepliesNeverReachAnotherCaller) {
  Dice dice;
  SCOPED_TRACE(dice.describe());
  constexpr int kThreads = 8;
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=40&connect_timeout_ms=2000"));
  std::atomic<bool> done = false;
  std::atomic<int> granted = 0;
  std::atomic<int> failed = 0;
  std::atomic<int> inside_common = 0;
  std::vector<std::uint64_t> seeds;
  for (int t = 0; t < kThreads; ++t) seeds.push_back(dice.below(1 << 30));
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(seeds[static_cast<std::size_t>(t)]);
      Client truth = open(server_.url());
      while (!done) {
        const bool common = random() % 4 == 0;
        const std::string name = common ? "common" : "own" + std::to_string(t);
        Mutex mutex = client.mutex(name, {.ttl = 2s});
        Result<Lease> lease =
            random() % 2 == 0 ? mutex.try_acquire() : mutex.try_acquire_for(100ms);
        if (!lease) {
          ++failed;
          continue;
        }
        ++granted;
        const int others = common ? inside_common.fetch_add(1) : 0;
        EXPECT_EQ(others, 0) << "two are in the common section";
        const std::uint64_t seen = visible_token(truth, name);
        EXPECT_EQ(lease->held() ? lease->token().value() : seen, seen) << name;
        if (random() % 2 == 0) {
          const Result<void> renewed = lease->renew();
          const std::uint64_t now = visible_token(truth, name);
          EXPECT_EQ(renewed && lease->held() ? lease->token().value() : now, now) << name;
        }
        if (common) --inside_common;
        static_cast<void>(lease->release());
      }
    });
  }
  const BootTime end = BootClock::now() + 5s;
  while (BootClock::now() < end && !HasFailure()) {
    const Direction way = dice.below(2) == 0 ? Direction::to_client : Direction::to_server;
    switch (dice.below(5)) {
      case 0: proxy.set(way, ProxyMode::delay, std::chrono::milliseconds(dice.below(80))); break;
      case 1: proxy.set(way, ProxyMode::hold); break;
      case 2: proxy.reset(); break;
      default: proxy.set_both(ProxyMode::pass); break;
    }
    pause_for(std::chrono::milliseconds(dice.below(60)));
    if (dice.below(2) == 0) proxy.set_both(ProxyMode::pass);
    pause_for(std::chrono::milliseconds(dice.below(30)));
  }
  proxy.set_both(ProxyMode::pass);
  done = true;
  threads.clear();
  EXPECT_GT(granted, 300);
  EXPECT_GT(failed, 30);
  // All is well afterwards, with the same client, and nothing lasts longer than a ttl.
  for (int t = 0; t <= kThreads; ++t) {
    expect_free_soon(client, t == kThreads ? "common" : "own" + std::to_string(t), 4s);
  }
}

TEST_F(RedisNetwork, ALateReplyIsSwallowedAndTheNextOneFits) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=50"));
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  for (int round = 0; round < 5; ++round) {
    proxy.set(Direction::to_client, ProxyMode::hold);
    EXPECT_EQ(outcome_of(client.inspect("x")), "unreachable");
    proxy.set(Direction::to_client, ProxyMode::pass);
    Result<Lease> other = client.mutex("y" + std::to_string(round), kLong).try_acquire_for(5s);
    ASSERT_EQ(told(other), "granted");
    EXPECT_EQ(other->token().value(), visible_token(watcher_, "y" + std::to_string(round)));
    EXPECT_EQ(client.inspect("x").value().holders.front().token, lease->token());
  }
}

// ---- Connections that are dead and do not know it ----------------------------------------------

TEST_F(RedisNetwork, AHalfOpenConnectionIsReplacedInTimeToKeepTheLease) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=1000"));
  Result<Lease> lease = client.mutex("x", {.ttl = 6s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  proxy.cut();
  pause_for(7s);
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(told(lease->release()), "granted");
}

TEST_F(RedisNetwork, AHalfOpenConnectionIsReplacedWhenItDoesNotAnswer) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=500"));
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  proxy.cut();
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(5s)), "granted");
}

TEST_F(RedisNetwork, AWaiterBehindAHalfOpenConnectionGetsTheLock) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=1000"));
  for (const bool released_before_it_notices : {false, true}) {
    Result<Lease> lease = watcher_.mutex("x", kLong).try_acquire_for(5s);
    ASSERT_EQ(told(lease), "granted");
    Pending waiting = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(30s); });
    ASSERT_TRUE(eventually([&] { return waiters(watcher_, "x") == 1; }));
    proxy.cut();
    const std::int64_t before = proxy.accepted();
    const BootTime cut = BootClock::now();
    if (released_before_it_notices) static_cast<void>(lease->release());
    ASSERT_TRUE(eventually([&] { return proxy.accepted() > before; }));
    EXPECT_LT(since(cut), 5s) << "the subscription was noticed dead too late";
    if (!released_before_it_notices) static_cast<void>(lease->release());
    Result<Lease> got = waiting.get();
    ASSERT_EQ(told(got), "granted");
    EXPECT_LT(since(cut), 12s);
    // Its request may go down the dead connection; then it is repeated in the background.
    static_cast<void>(got->release());
  }
}

// ---- Many reconnections ------------------------------------------------------------------------

int open_descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

TEST_F(RedisNetwork, AThousandReconnectionsLoseAndLeakNothing) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  Token last;
  int descriptors = 0;
  for (int i = 0; i < 1000; ++i) {
    Result<Lease> lease = client.mutex("x", kLong).try_acquire_for(10s);
    ASSERT_EQ(told(lease), "granted") << i;
    ASSERT_GT(lease->token(), last);
    last = lease->token();
    if (i % 2 == 0) proxy.reset();
    ASSERT_EQ(told(lease->release()), "granted") << i;
    proxy.reset();
    if (i == 20) descriptors = open_descriptors();
  }
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire_for(10s)), "granted");
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors + 4; }))
      << descriptors << " before, " << open_descriptors() << " now";
}

}  // namespace
}  // namespace holdfast::redis_tests
