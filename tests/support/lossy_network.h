// Networks that lose, delay and mix up, on the engines whose requests and replies go through one pipelined
// connection: no second hold, no stranded lock, no reply for another caller.
#pragma once

#include <dirent.h>

#include <functional>

#include "lock_testing.h"

namespace holdfast::lock_testing {

// Swallows the replies to a call, and ends its connection once the server has executed it.
inline void lose_replies(Proxy& proxy, const std::function<void()>& call) {
  proxy.set(Direction::to_client, ProxyMode::drop);
  const std::int64_t before = proxy.received(Direction::to_client);
  std::jthread caller(call);
  ASSERT_TRUE(eventually([&] { return proxy.received(Direction::to_client) > before; }));
  proxy.set(Direction::to_client, ProxyMode::pass);
  proxy.reset();
}

// `proceed(lease)` is called for a try and for a wait whose reply was lost.
inline void expect_a_lost_reply_gives_one_hold(Proxy& proxy, Client& client, Client& watcher,
                                               const std::function<void(Lease&)>& proceed) {
  for (const bool waiting : {false, true}) {
    ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire()), "granted");
    Result<Lease> lease = Failure(Code::closed, "");
    lose_replies(proxy, [&] {
      Mutex mutex = client.mutex("x", kLong);
      lease = waiting ? mutex.try_acquire_for(10s) : mutex.try_acquire();
    });
    ASSERT_EQ(told(lease), "granted");
    EXPECT_EQ(lease->token().value(), visible_token(watcher, "x"));
    proceed(*lease);
    ASSERT_EQ(told(lease->release()), "granted");
    expect_free_soon(watcher, "x", 0ms);
  }
}

inline void expect_lost_replies_are_asked_for_again(Proxy& proxy, Client& client, Client& watcher) {
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  pause_for(50ms);  // Where a token is recorded apart, it is recorded.
  Result<void> renewed = Failure(Code::closed, "");
  lose_replies(proxy, [&] { renewed = lease->renew(); });
  EXPECT_EQ(told(renewed), "granted");
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(lease->token().value(), visible_token(watcher, "x"));
  Result<void> released = Failure(Code::closed, "");
  lose_replies(proxy, [&] { released = lease->release(); });
  EXPECT_EQ(told(released), "granted");
  expect_free_soon(watcher, "x", 0ms);
}

// `executed()`: the server has executed the acquire of "x".
inline void expect_an_acquire_is_taken_back(Proxy& proxy, Client& client, Client& watcher,
                                            const std::function<bool()>& executed) {
  ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire()), "granted");
  for (const bool waits : {false, true}) {
    SCOPED_TRACE(waits ? "one that waits" : "one that does not wait");
    proxy.set(Direction::to_client, ProxyMode::drop);
    Pending acquiring = in_thread([&, waits] {
      Mutex mutex = client.mutex("x", kLong);
      return waits ? mutex.try_acquire_for(10s) : mutex.try_acquire();
    });
    ASSERT_TRUE(eventually(executed));
    proxy.refuse(true);
    proxy.set(Direction::to_client, ProxyMode::pass);
    proxy.reset();
    pause_for(100ms);
    proxy.refuse(false);
    ASSERT_TRUE(arrives(acquiring));
    Result<Lease> lease = acquiring.get();
    if (lease) {
      EXPECT_EQ(lease->token().value(), visible_token(watcher, "x"));
      ASSERT_EQ(told(lease->release()), "granted");
    }
    expect_free_soon(watcher, "x", 5s);  // long before the ttl of 30 s
  }
}

// Holes in the network, for five seconds.
inline void torment(Proxy& proxy, Dice& dice) {
  const BootTime end = BootClock::now() + 5s;
  while (BootClock::now() < end && !testing::Test::HasFailure()) {
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
}

struct LateReplies {
  Duration ttl{};
  bool recorded_later = false;  // a hold can be seen before its token is
  int least_granted = 0;
};

// Every lease must have the token that everybody sees on its name: a reply that reached another caller
// would show at once.
inline void expect_late_replies_reach_no_other_caller(Proxy& proxy, const std::string& url,
                                                      const std::string& url_by_proxy,
                                                      const LateReplies& expected) {
  Dice dice;
  SCOPED_TRACE(dice.describe());
  constexpr int kThreads = 8;
  Client client = open(url_by_proxy);
  std::atomic<bool> done = false;
  std::atomic<int> granted = 0;
  std::atomic<int> failed = 0;
  std::atomic<int> inside_common = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t, seed = dice.below(1 << 30)] {
      std::mt19937_64 random(seed);
      Client truth = open(url);
      while (!done) {
        const bool common = random() % 4 == 0;
        const std::string name = common ? "common" : "own" + std::to_string(t);
        Mutex mutex = client.mutex(name, {.ttl = expected.ttl});
        Result<Lease> lease =
            random() % 2 == 0 ? mutex.try_acquire() : mutex.try_acquire_for(100ms);
        if (!lease) {
          ++failed;
          continue;
        }
        ++granted;
        const int others = common ? inside_common.fetch_add(1) : 0;
        EXPECT_EQ(others, 0) << "two are in the common section";
        const auto expect_visible = [&](bool recorded) {
          const std::uint64_t seen = visible_token(truth, name);
          if (!lease->held() || (seen == 0 && !recorded)) return;
          EXPECT_EQ(lease->token().value(), seen) << name;
        };
        expect_visible(!expected.recorded_later);
        if (random() % 2 == 0 && lease->renew()) expect_visible(true);
        if (common) --inside_common;
        static_cast<void>(lease->release());
      }
    });
  }
  torment(proxy, dice);
  done = true;
  threads.clear();
  EXPECT_GT(granted, expected.least_granted);
  EXPECT_GT(failed, 30);
  // All is well afterwards, with the same client, and nothing lasts longer than a ttl.
  for (int t = 0; t <= kThreads; ++t) {
    const std::string name = t == kThreads ? "common" : "own" + std::to_string(t);
    expect_free_soon(client, name, 2 * expected.ttl);
  }
}

// `client` gives up after 50 ms.
inline void expect_late_replies_are_swallowed(Proxy& proxy, Client& client, Client& watcher) {
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  pause_for(50ms);  // Where a token is recorded apart, it is recorded.
  for (int round = 0; round < 5; ++round) {
    proxy.set(Direction::to_client, ProxyMode::hold);
    EXPECT_EQ(outcome_of(client.inspect("x")), "unreachable");
    proxy.set(Direction::to_client, ProxyMode::pass);
    const std::string name = "y" + std::to_string(round);
    Result<Lease> other = client.mutex(name, kLong).try_acquire_for(5s);
    ASSERT_EQ(told(other), "granted");
    EXPECT_EQ(other->token().value(), visible_token(watcher, name));
    EXPECT_EQ(client.inspect("x").value().holders.front().token, lease->token());
  }
}

// `client` gives up after a second.
inline void expect_a_half_open_connection_costs_no_lease(Proxy& proxy, Client& client) {
  Result<Lease> lease = client.mutex("x", {.ttl = 6s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  proxy.cut();
  pause_for(7s);
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(told(lease->release()), "granted");
}

inline int open_descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

inline void expect_reconnections_lose_and_leak_nothing(Proxy& proxy, Client& client, int count) {
  Token last;
  int descriptors = 0;
  for (int i = 0; i < count; ++i) {
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

// ---- A server that stops, dies and comes back ---------------------------------------------------

template <class Server>
void expect_a_stopped_server_is_waited_for() {
  Server server;
  Client client = open(server.url() + "?command_timeout_ms=300");
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  server.pause();
  const Result<Lease> stopped = client.mutex("y", kLong).try_acquire();
  EXPECT_THAT(outcome_of(stopped), AnyOf("unknown", "unreachable"));
  EXPECT_EQ(outcome_of(client.inspect("x")), "unreachable");
  server.resume();
  EXPECT_EQ(told(client.mutex("z", kLong).try_acquire_for(10s)), "granted");
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_EQ(told(lease->release()), "granted");
  expect_free_soon(client, "y", 5s);  // A late execution has been taken back.
}

template <class Server>
void expect_a_lease_outlives_a_short_stop() {
  Server server;
  Client client = open(server.url() + "?command_timeout_ms=300");
  Result<Lease> lease = client.mutex("x", {.ttl = 4s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  server.pause();
  pause_for(2s);
  server.resume();
  pause_for(3s);
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(told(lease->release()), "granted");
}

template <class Server>
void expect_a_lease_is_lost_with_the_data(Duration ttl) {
  Server server;
  Client client = open(server.url());
  Result<Lease> lease = client.mutex("x", {.ttl = ttl}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  server.restart();
  const BootTime restarted = BootClock::now();
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
  EXPECT_LT(since(restarted), ttl);
  const Result<Lease> next = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), lease->token());
  EXPECT_EQ(outcome_of(lease->release()), "not_held");
}

template <class Server>
void expect_a_dead_server_is_named_and_used_again() {
  Server server;
  Client client = open(server.url());
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  server.kill();
  for (int i = 0; i < 3; ++i) {
    const BootTime begun = BootClock::now();
    const std::string said = told(client.mutex("x", kLong).try_acquire());
    // The first may have left before the end of the connection was seen.
    EXPECT_THAT(said, StartsWith(i == 0 ? "un" : "unreachable"));
    EXPECT_THAT(said, HasSubstr("127.0.0.1:" + std::to_string(server.port())));
    EXPECT_LT(since(begun), 2s);
  }
  server.restart();
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
}

}  // namespace holdfast::lock_testing
