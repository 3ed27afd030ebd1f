// Servers that stop, die and come back, with and without their data.
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

TEST(RedisOutage, AStoppedServerIsWaitedForAndUsedAgain) {
  RedisServer server;
  Client client = open(server.url() + "?command_timeout_ms=300");
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  server.pause();
  const Result<Lease> stopped = client.mutex("y", kLong).try_acquire();
  EXPECT_THAT(outcome_of(stopped), testing::AnyOf("unknown", "unreachable"));
  EXPECT_EQ(outcome_of(client.inspect("x")), "unreachable");
  server.resume();
  EXPECT_EQ(told(client.mutex("z", kLong).try_acquire_for(10s)), "granted");
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_EQ(told(lease->release()), "granted");
  expect_free_soon(client, "y", 5s);  // what was executed late has been taken back
}

TEST(RedisOutage, ALeaseOutlivesAStopThatIsShorterThanItsTtl) {
  RedisServer server;
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

TEST(RedisOutage, ALeaseOutlivesTheRestartOfADurableServer) {
  RedisServer server({.durable = true});
  Client client = open(server.url());
  const LockOptions brisk{.ttl = 3s};
  Result<Lease> lease = client.mutex("x", brisk).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  server.restart();
  pause_for(1500ms);  // a renewal or more
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(visible_token(client, "x"), lease->token().value());
  Client other = open(server.url());
  EXPECT_EQ(outcome_of(other.mutex("x", kLong).try_acquire()), "busy");
  const Token before = lease->token();
  ASSERT_EQ(told(lease->release()), "granted");
  EXPECT_GT(other.mutex("x", kLong).try_acquire()->token(), before);
}

TEST(RedisOutage, ALeaseIsLostWithTheDataAndSaysSo) {
  RedisServer server;
  Client client = open(server.url());
  Result<Lease> lease = client.mutex("x", {.ttl = 1500ms}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  server.restart();
  const BootTime restarted = BootClock::now();
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
  EXPECT_LT(since(restarted), 1500ms);
  const Result<Lease> next = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), lease->token());
  EXPECT_EQ(outcome_of(lease->release()), "not_held");
}

TEST(RedisOutage, WaitersOutliveARestartAndGetTheLock) {
  for (const bool durable : {false, true}) {
    RedisServer server({.durable = durable});
    Client holder = open(server.url());
    Client client = open(server.url());
    Result<Lease> lease = holder.mutex("x", kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    std::vector<Pending> pending;
    for (std::size_t i = 0; i < 3; ++i) {
      pending.push_back(in_thread([&] { return client.mutex("x", kLong).try_acquire_for(30s); }));
    }
    ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 3; }));
    pause_for(50ms);  // They know that they wait.
    server.kill();
    pause_for(700ms);
    server.restart();
    const BootTime restarted = BootClock::now();
    if (durable) static_cast<void>(lease->release());
    for (int served = 0; served < 3; ++served) {
      Result<Lease> got = Failure(Code::closed, "");
      ASSERT_TRUE(eventually([&] {
        for (Pending& each : pending) {
          if (!each.valid() || !contract::is_ready(each)) continue;
          got = each.get();
          return true;
        }
        return false;
      }));
      ASSERT_EQ(told(got), "granted");
      EXPECT_EQ(got->token().value(), visible_token(holder, "x"));
      ASSERT_EQ(told(got->release()), "granted");
    }
    EXPECT_LT(since(restarted), 8s);
  }
}

TEST(RedisOutage, AServerThatIsGoneIsNamedAtOnceAndUsedWhenItIsBack) {
  RedisServer server;
  Client client = open(server.url());
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  server.kill();
  for (int i = 0; i < 3; ++i) {
    const BootTime begun = BootClock::now();
    const std::string said = told(client.mutex("x", kLong).try_acquire());
    // The first may have left before the end of the connection was seen.
    EXPECT_THAT(said, testing::StartsWith(i == 0 ? "un" : "unreachable"));
    EXPECT_THAT(said, HasSubstr("127.0.0.1:" + std::to_string(server.port())));
    EXPECT_LT(since(begun), 2s);
  }
  server.restart();
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
}

}  // namespace
}  // namespace holdfast::redis_tests
