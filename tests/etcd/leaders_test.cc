// Clusters: leaders that die, are stopped or are cut off, and members that are behind.
#include <csignal>

#include "etcd_testing.h"

namespace holdfast::etcd_tests {
namespace {

TEST(EtcdLeaders, AHoldAndItsWaitersOutliveTheDeathOfTheLeader) {
  EtcdServer server({.count = 3});
  Client holder = open(server.url());
  Client client = open(server.url());
  Lease lease = holder.mutex("x", {.ttl = 5s}).try_acquire().value();
  constexpr std::size_t kWaiters = 1000;
  std::atomic<std::size_t> served = 0;
  std::atomic<std::uint64_t> last = lease.token().value();
  Mutex mutex = client.mutex("x", {.ttl = 5s});
  for (std::size_t i = 0; i < kWaiters; ++i) {
    mutex.async_acquire().then([&](Result<Lease> got) {
      EXPECT_EQ(told(got), "granted");
      if (got) {
        EXPECT_GT(got->token().value(), last.exchange(got->token().value()));
      }
      ++served;
    });
  }
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == kWaiters; }));
  server.kill(server.leader());
  server.wait_until_ready();
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(told(lease.renew()), "granted");
  EXPECT_EQ(told(lease.release()), "granted");
  EXPECT_TRUE(eventually([&] { return served == kWaiters; })) << served;
  expect_free_soon(holder, "x");
}

TEST(EtcdLeaders, ClientsNeverOverlapAndTokensGrowWhileLeadersDie) {
  EtcdServer server({.count = 3});
  std::atomic<bool> over = false;
  std::atomic<int> inside = 0;
  std::atomic<int> overlaps = 0;
  std::atomic<int> sections = 0;
  std::atomic<std::uint64_t> last = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      Client client = open(server.url());
      Mutex mutex = client.mutex("x", {.ttl = 10s});
      while (!over) {
        Result<Lease> lease = mutex.try_acquire_for(30s);
        if (!lease) continue;
        if (++inside != 1) ++overlaps;
        if (lease->token().value() <= last.exchange(lease->token().value())) ++overlaps;
        if (lease->held()) ++sections;
        --inside;
        static_cast<void>(lease->release());
      }
    });
  }
  for (int kills = 0; kills < 3; ++kills) {
    const int before = sections;
    EXPECT_TRUE(eventually([&] { return sections > before + 10; })) << "it stands still";
    const std::size_t leader = server.leader();
    server.kill(leader);
    server.wait_until_ready();
    EXPECT_TRUE(eventually([&] { return sections > before + 20; })) << "it stands still";
    server.restart(leader);
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps, 0);
  Client client = open(server.url());
  expect_free_soon(client, "x", 20s);
}

TEST(EtcdLeaders, AMemberThatIsStoppedIsLeftForAnother) {
  EtcdServer server({.count = 3});
  Client client = open(server.url() + "?command_timeout_ms=3000");
  Lease lease = client.mutex("x", {.ttl = 10s}).try_acquire().value();
  for (std::size_t member = 0; member < 3; ++member) {
    server.pause(member);
    server.wait_until_ready();
    Result<Lease> got = client.mutex("y", kLong).try_acquire_for(20s);
    EXPECT_EQ(told(got), "granted") << member;
    server.resume(member);
    server.wait_until_ready();
  }
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(told(lease.release()), "granted");
}

TEST(EtcdLeaders, WithoutAMajorityNothingIsGrantedAndAHolderLosesInTime) {
  EtcdServer server({.count = 3});
  const std::size_t survivor = server.leader();
  Client client = open(server.url_of({server.port(survivor)}) + "?command_timeout_ms=1000");
  Lease lease = client.mutex("x", {.ttl = 3s}).try_acquire().value();
  const BootTime valid_until = lease.valid_until();
  for (std::size_t member = 0; member < 3; ++member) {
    if (member != survivor) server.pause(member);
  }
  const Result<Lease> refused = client.mutex("y", kLong).try_acquire();
  EXPECT_THAT(outcome_of(refused), AnyOf("unreachable", "unknown"));
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  // Renewed at most once after the followers were stopped, and that not by them.
  EXPECT_LE(BootClock::now(), valid_until + 3s);
  EXPECT_FALSE(lease.held());
  for (std::size_t member = 0; member < 3; ++member) {
    if (member != survivor) server.resume(member);
  }
  server.wait_until_ready();
  expect_free_soon(client, "x");
  expect_free_soon(client, "y");
}

// given  a leader is stopped, and replaced; it goes on, and does not know it yet
// when   the new leader and the other member are stopped, so that it cannot learn
// then   it answers keep-alives for up to two election time-outs more: they are not believed
TEST(EtcdLeaders, AReplacedLeaderRenewsNothing) {
  EtcdServer server(
      {.count = 3, .arguments = {"--heartbeat-interval", "500", "--election-timeout", "5000"}});
  const std::size_t old_leader = server.leader();
  Client client = open(server.url_of({server.port(old_leader)}) + "?command_timeout_ms=1000");
  Lease lease = client.mutex("x", {.ttl = 60s, .auto_renew = false}).try_acquire().value();
  server.pause(old_leader);
  std::size_t new_leader = old_leader;
  test::wait_for("another leader", [&] {
    new_leader = server.leader();
    return new_leader != old_leader;
  });
  for (std::size_t member = 0; member < 3; ++member) {
    if (member != old_leader) server.pause(member);
  }
  server.resume(old_leader);
  const BootTime before = lease.valid_until();
  for (int i = 0; i < 5; ++i) EXPECT_NE(told(lease.renew()), "granted");
  EXPECT_EQ(lease.valid_until(), before);
  for (std::size_t member = 0; member < 3; ++member) {
    if (member != old_leader) server.resume(member);
  }
  server.wait_until_ready();
  EXPECT_TRUE(eventually([&] { return lease.renew().ok(); }));
}

TEST(EtcdLeaders, ARestartOfTheWholeClusterForgetsNothing) {
  EtcdServer server;
  Client client = open(server.url());
  Client other = open(server.url());
  Lease lease = client.mutex("x", {.ttl = 10s}).try_acquire().value();
  Pending waiting = in_thread([&] { return other.mutex("x", kLong).try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] { return waiters(client, "x") == 1; }));
  server.restart();
  EXPECT_EQ(told(lease.renew()), "granted");
  EXPECT_FALSE(contract::is_ready(waiting));
  const Token before = lease.token();
  EXPECT_EQ(told(lease.release()), "granted");
  const Result<Lease> next = waiting.get();
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), before);
}

}  // namespace
}  // namespace holdfast::etcd_tests
