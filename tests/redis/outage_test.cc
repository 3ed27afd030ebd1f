// Servers that stop, die and come back, with and without their data.
#include "lossy_network.h"
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

TEST(RedisOutage, AStoppedServerIsWaitedForAndUsedAgain) {
  expect_a_stopped_server_is_waited_for<RedisServer>();
}

TEST(RedisOutage, ALeaseOutlivesAStopThatIsShorterThanItsTtl) {
  expect_a_lease_outlives_a_short_stop<RedisServer>();
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
  expect_a_lease_is_lost_with_the_data<RedisServer>(1500ms);
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
  expect_a_dead_server_is_named_and_used_again<RedisServer>();
}

}  // namespace
}  // namespace holdfast::redis_tests
