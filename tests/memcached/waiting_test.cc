// Waiting without a word from the server: one of a client's waiters asks, the others stand behind.
#include "memcached_testing.h"
#include "probe.h"

namespace holdfast::memcached_tests {
namespace {

using contract::Probe;

TEST(MemcachedWaiting, WaitersOfOneClientAreServedInTheirOrder) {
  MemcachedServer server;
  Client client = open(server.url());
  Mutex mutex = client.mutex("x", kLong);
  Lease lease = mutex.acquire().value();
  std::mutex guard;
  std::vector<int> order;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const Lease mine = mutex.acquire().value();
      const std::lock_guard lock(guard);
      order.push_back(i);
    });
    pause_for(30ms);
  }
  ASSERT_EQ(told(lease.release()), "granted");
  threads.clear();
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// However many wait, the server is asked by one of them, and seldom.
TEST(MemcachedWaiting, ManyWaitersAskNoMoreThanOne) {
  MemcachedServer server;
  Proxy proxy(server.port());
  Client holder = open(server.url());
  Client client = open(url_of(proxy));
  Lease lease = holder.mutex("x", kLong).acquire().value();
  std::vector<Pending> line;
  for (int i = 0; i < 20; ++i) {
    line.push_back(in_thread([&]() -> Result<Lease> {
      Result<Lease> got = client.mutex("x", kLong).try_acquire_for(20s);
      if (got) static_cast<void>(got->release());
      return got;
    }));
  }
  pause_for(1s);
  const std::int64_t before = proxy.received(Direction::to_server);
  pause_for(1s);
  // "mg x v t c\r\n" has 12 bytes; about every 50 ms.
  EXPECT_LT(proxy.received(Direction::to_server) - before, 12 * 60);
  ASSERT_EQ(told(lease.release()), "granted");
  for (Pending& waiting : line) {
    ASSERT_TRUE(arrives(waiting));
    EXPECT_EQ(told(waiting.get()), "granted");
  }
}

TEST(MemcachedWaiting, WhenTheFirstGivesUpTheNextOneAsks) {
  MemcachedServer server;
  Client holder = open(server.url());
  Client client = open(server.url());
  Lease lease = holder.mutex("x", kLong).acquire().value();
  std::stop_source stop;
  Pending first = in_thread([&] { return client.mutex("x", kLong).acquire(stop.get_token()); });
  pause_for(50ms);
  Pending second = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(100ms); });
  pause_for(20ms);
  Pending third = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(20s); });
  const Result<Lease> late = second.get();
  ASSERT_EQ(outcome_of(late), "busy");
  EXPECT_EQ(late.failure().busy()->token, lease.token().value());
  stop.request_stop();
  EXPECT_EQ(outcome_of(first.get()), "cancelled");
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(third));
  EXPECT_EQ(told(third.get()), "granted");
}

TEST(MemcachedWaiting, ReleaseEndsTheWaitOfItsClaim) {
  MemcachedServer server;
  Client holder = open(server.url());
  Lease lease = holder.mutex("x", kLong).acquire().value();
  Probe probe(server.url());
  probe.inside([&](Engine& engine) -> Task<void> {
    TaskGroup group(*probe.runtime);
    std::optional<Result<Grant>> waited;
    const Claim claim{.name = "x", .id = ClaimId({7}), .ttl = 30s};
    const auto wait_for_it = [](Engine& it, const Claim& mine,
                                std::optional<Result<Grant>>& out) -> Task<void> {
      const Wait wait{.deadline = Deadline::at(BootClock::now() + 15s), .queue = true, .stop = {}};
      out = co_await it.acquire(mine, wait);
    };
    group.spawn(wait_for_it(engine, claim, waited));
    static_cast<void>(co_await sleep_until(*probe.runtime, BootClock::now() + 50ms));
    EXPECT_FALSE(waited);
    const Deadline soon = Deadline::at(BootClock::now() + 5s);
    const Result<bool> ended = co_await engine.release(claim, soon);
    EXPECT_TRUE(ended && !*ended) << "a wait is not a hold";
    EXPECT_TRUE(co_await group.join(soon)) << "it still waits";
    EXPECT_TRUE(waited && !waited->ok());
  });
  EXPECT_TRUE(lease.held());
  ASSERT_EQ(told(lease.release()), "granted");
  expect_free_soon(holder, "x", 0ms);
}

}  // namespace
}  // namespace holdfast::memcached_tests
