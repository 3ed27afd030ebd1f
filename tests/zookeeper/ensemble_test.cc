// Three servers: a leader that dies, a follower that is cut off.
#include "zookeeper_testing.h"

namespace holdfast::zookeeper_tests {
namespace {

TEST(ZooKeeperLeader, ItsDeathWhileAHundredWaitLosesNobodyAndNoOrder) {
  ZooKeeperEnsemble ensemble;
  constexpr int kWaiters = 100;
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(open(ensemble.url()));
  Lease lease = clients[0].mutex("x", kLong).acquire().value();
  std::mutex guard;
  std::vector<std::uint64_t> tokens;
  std::atomic<int> inside = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWaiters; ++i) {
    threads.emplace_back([&, i] {
      Mutex mutex = clients[static_cast<std::size_t>(i) % clients.size()].mutex("x", kLong);
      const Result<Lease> mine = mutex.try_acquire_for(120s);
      ASSERT_EQ(told(mine), "granted");
      EXPECT_EQ(++inside, 1);
      const std::lock_guard lock(guard);
      tokens.push_back(mine->token().value());
      --inside;
    });
  }
  ASSERT_TRUE(queue_reaches(clients[0], "x", kWaiters, 60s));
  const std::size_t leader = ensemble.leader();
  ensemble.at(leader).kill();
  EXPECT_TRUE(lease.held());
  static_cast<void>(ensemble.leader());
  const auto is_released = [&] {
    const Result<void> released = lease.release();
    return released || released.code() != Code::unreachable;
  };
  EXPECT_TRUE(eventually(is_released, 30s));
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(tokens.size(), std::size_t{kWaiters});
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
  EXPECT_TRUE(eventually([&] { return clients[0].inspect("x").value().holders.empty(); }));
}

// The first server can be cut off from the others, and leads nobody.
class ZooKeeperPartition : public testing::Test {
 protected:
  ZooKeeperPartition() {
    for (int i = 0; ensemble_.leader() == 0 && i < 5; ++i) {
      ensemble_.at(0).restart();
      ensemble_.wait_until_all_serve();
    }
  }
  std::string url_of_first() const { return url_of(first_port_); }
  std::string url_of_others() {
    return "zookeeper://" + ensemble_.at(1).host() + "," + ensemble_.at(2).host();
  }

  // A follower notices after 60 s that it is cut off, long after our sessions have expired: until
  // then it answers pings.
  ZooKeeperEnsemble ensemble_{{.proxied_first = true, .server = {.settings = {"syncLimit=600"}}}};
  const int first_port_ = ensemble_.at(0).port();
};

TEST_F(ZooKeeperPartition, AClientOfAFollowerThatIsCutOffDoesNotBelieveInAnExpiredSession) {
  ASSERT_NE(ensemble_.leader(), 0U);
  Client cut_off = open(url_of_first());
  Client other = open(url_of_others());
  const Lease lease = cut_off.mutex("x", {.ttl = 2s}).acquire().value();
  pause_for(1s);
  ASSERT_TRUE(lease.held());
  ensemble_.isolate_first(true);
  const Result<Lease> next = other.mutex("x", kLong).try_acquire_for(60s);
  const bool believed = lease.held();
  ASSERT_EQ(told(next), "granted");
  EXPECT_FALSE(believed) << "the follower's answers were taken for the leader's";
  EXPECT_TRUE(lease.lost().stop_requested());
  EXPECT_GT(next->token(), lease.token());
  EXPECT_EQ(ensemble_.at(0).mode(), "follower") << "it noticed too early for this test";
  ensemble_.isolate_first(false);
}

TEST_F(ZooKeeperPartition, AClientWithMoreServersLeavesTheOneThatIsCutOff) {
  ASSERT_NE(ensemble_.leader(), 0U);
  // It may begin anywhere: one of several begins at the first.
  std::vector<Client> clients;
  std::vector<Lease> leases;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(open(ensemble_.url()));
    leases.push_back(clients.back().mutex("x" + std::to_string(i), {.ttl = 6s}).acquire().value());
  }
  ensemble_.isolate_first(true);
  pause_for(12s);
  for (const Lease& lease : leases) {
    EXPECT_TRUE(lease.held()) << "it should have gone to another server in time";
  }
  ensemble_.isolate_first(false);
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
