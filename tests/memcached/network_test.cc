// Networks that lose, delay and mix up: no second hold, no stranded lock, no reply for somebody
// else.
#include <dirent.h>

#include "memcached_testing.h"

namespace holdfast::memcached_tests {
namespace {

class MemcachedNetwork : public testing::Test {
 protected:
  // Swallows the replies to a call, and ends its connection once the server has executed it.
  void lose_replies(Proxy& proxy, const std::function<void()>& call) {
    proxy.set(Direction::to_client, ProxyMode::drop);
    const std::int64_t before = proxy.received(Direction::to_client);
    std::jthread caller(call);
    ASSERT_TRUE(eventually([&] { return proxy.received(Direction::to_client) > before; }));
    proxy.set(Direction::to_client, ProxyMode::pass);
    proxy.reset();
  }

  MemcachedServer server_;
  Client watcher_ = open(server_.url());
};

// ---- Replies that are lost ---------------------------------------------------------------------

TEST_F(MemcachedNetwork, ALostReplyToAcquireGivesOneHoldWithTheTokenThatEverybodySees) {
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
    EXPECT_EQ(told(lease->renew()), "granted");
    ASSERT_EQ(told(lease->release()), "granted");
    expect_free_soon(watcher_, "x", 0ms);
  }
}

TEST_F(MemcachedNetwork, ALostReplyToRenewAndToReleaseIsAskedForAgain) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  pause_for(50ms);  // Its token is recorded.
  Result<void> renewed = Failure(Code::closed, "");
  lose_replies(proxy, [&] { renewed = lease->renew(); });
  EXPECT_EQ(told(renewed), "granted");
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(lease->token().value(), visible_token(watcher_, "x"));
  Result<void> released = Failure(Code::closed, "");
  lose_replies(proxy, [&] { released = lease->release(); });
  EXPECT_EQ(told(released), "granted");
  expect_free_soon(watcher_, "x", 0ms);
}

TEST_F(MemcachedNetwork, ATokenWhoseRecordingWasLostIsRecordedByTheNextRenewal) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire()), "granted");
  pause_for(50ms);
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  proxy.reset();  // Most likely before it was recorded; if not, this test says less.
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_EQ(lease->token().value(), visible_token(watcher_, "x"));
  EXPECT_EQ(told(watcher_.evict("x", lease->token())), "granted");
}

TEST_F(MemcachedNetwork, AnAcquireWhoseServerVanishesIsTakenBackWhenItIsThereAgain) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire()), "granted");
  for (const bool waits : {false, true}) {
    SCOPED_TRACE(waits ? "one that waits" : "one that does not wait");
    proxy.set(Direction::to_client, ProxyMode::drop);
    Pending acquiring = in_thread([&, waits] {
      Mutex mutex = client.mutex("x", kLong);
      return waits ? mutex.try_acquire_for(10s) : mutex.try_acquire();
    });
    ASSERT_TRUE(eventually([&] { return present(server_, "x"); }));
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
TEST_F(MemcachedNetwork, LateRepliesNeverReachAnotherCaller) {
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
        Mutex mutex = client.mutex(name, {.ttl = 3s});
        Result<Lease> lease =
            random() % 2 == 0 ? mutex.try_acquire() : mutex.try_acquire_for(100ms);
        if (!lease) {
          ++failed;
          continue;
        }
        ++granted;
        const int others = common ? inside_common.fetch_add(1) : 0;
        EXPECT_EQ(others, 0) << "two are in the common section";
        // 0: held, and its token is not recorded (yet).
        const auto fits = [&](std::uint64_t seen) {
          return !lease->held() || seen == 0 || seen == lease->token().value();
        };
        EXPECT_TRUE(fits(visible_token(truth, name))) << name;
        if (random() % 2 == 0 && lease->renew() && lease->held()) {
          const std::uint64_t seen = visible_token(truth, name);
          EXPECT_EQ(lease->held() ? lease->token().value() : seen, seen) << name;
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
  EXPECT_GT(granted, 100);
  EXPECT_GT(failed, 30);
  // All is well afterwards, with the same client, and nothing lasts longer than a ttl.
  for (int t = 0; t <= kThreads; ++t) {
    expect_free_soon(client, t == kThreads ? "common" : "own" + std::to_string(t), 6s);
  }
}

TEST_F(MemcachedNetwork, ALateReplyIsSwallowedAndTheNextOneFits) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=50"));
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  pause_for(50ms);  // Its token is recorded.
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

TEST_F(MemcachedNetwork, AHalfOpenConnectionIsReplacedInTimeToKeepTheLease) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=1000"));
  Result<Lease> lease = client.mutex("x", {.ttl = 6s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  proxy.cut();
  pause_for(7s);
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(told(lease->release()), "granted");
}

TEST_F(MemcachedNetwork, AWaiterBehindAHalfOpenConnectionGetsTheLock) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=1000"));
  Result<Lease> lease = watcher_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  const std::int64_t before = proxy.received(Direction::to_server);
  Pending waiting = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return proxy.received(Direction::to_server) > before + 500; }));
  proxy.cut();
  ASSERT_EQ(told(lease->release()), "granted");
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

// ---- Bytes that no memcached would say ---------------------------------------------------------

TEST_F(MemcachedNetwork, GarbageIsGotOver) {
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace): test code
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=500"));
  for (const std::string& garbage :
       {"HTTP/1.1 400 Bad Request\r\n\r\n"s, "HD c1\r\n"s, "VA 5 c1\r\nabc"s, "VA x\r\n"s,
        "VA 3 t-1 c1\r\nabcdef\r\n"s, "EN\r\n"s, "\r\n"s, std::string(5000, 'x'),
        std::string(100, '\0'), "SERVER_ERROR out of memory\r\n"s, "VA 99999999999 c1\r\n"s}) {
    SCOPED_TRACE(garbage.substr(0, 30));
    ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire_for(8s)), "granted");
    proxy.inject(garbage);
    pause_for(20ms);
    // The first call may find the connection dead; nothing may be wrong.
    static_cast<void>(client.mutex("first", kLong).try_acquire());
    for (int i = 0; i < 3; ++i) {
      Result<Lease> lease = client.mutex("x", kLong).try_acquire_for(8s);
      ASSERT_EQ(told(lease), "granted");
      EXPECT_EQ(lease->token().value(), visible_token(watcher_, "x"));
      EXPECT_EQ(told(lease->renew()), "granted");
      EXPECT_EQ(told(lease->release()), "granted");
      EXPECT_EQ(visible_token(watcher_, "x"), 0U);
    }
    expect_free_soon(watcher_, "first", 5s);
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

TEST_F(MemcachedNetwork, HundredsOfReconnectionsLoseAndLeakNothing) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  Token last;
  int descriptors = 0;
  for (int i = 0; i < 500; ++i) {
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
}  // namespace holdfast::memcached_tests
