// First come, first served, through what takes the waiters' connections away: restarts, failovers, moved slots.
#include <algorithm>
#include <mutex>

#include "redis_cluster.h"
#include "redis_replication.h"
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

using test::RedisCluster;
using test::RedisWithSentinels;

// Waiters of one lock, each a client of its own, queued one after the other. Each one that is served notes its
// number and releases.
class Line {
 public:
  static constexpr std::size_t kWaiters = 20;

  Line(const std::string& url, const std::string& name) : watcher_(open(url)) {
    for (std::size_t i = 0; i < kWaiters; ++i) {
      clients_.push_back(open(url));
      pending_.push_back(std::async(std::launch::async, [this, i, name] {
        Result<Lease> lease = clients_[i].mutex(name, kLong).try_acquire_for(60s);
        if (lease) {
          const std::lock_guard lock(mutex_);
          served_.push_back(i);
        }
        if (lease) static_cast<void>(lease->release());
        return told(lease);
      }));
      EXPECT_TRUE(eventually([&] { return waiters(watcher_, name) == i + 1; }));
    }
  }

  // How many of the 190 pairs were served in the wrong order.
  int wrong_pairs() {
    for (auto& each : pending_) EXPECT_EQ(each.get(), "granted");
    EXPECT_EQ(served_.size(), kWaiters);
    int wrong = 0;
    for (std::size_t i = 0; i < served_.size(); ++i) {
      for (std::size_t j = i + 1; j < served_.size(); ++j) wrong += served_[i] > served_[j] ? 1 : 0;
    }
    return wrong;
  }

 private:
  Client watcher_;
  std::mutex mutex_;
  std::vector<std::size_t> served_;
  std::vector<Client> clients_;
  std::vector<std::future<std::string>> pending_;
};

Lease hold(Client& client, const std::string& name) {
  return client.mutex(name, kLong).try_acquire().value();
}

class RedisFairness : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, RedisFairness, testing::Bool(), [](const auto& parameter) {
  return std::string(parameter.param ? "WithItsData" : "WithoutItsData");
});

TEST_P(RedisFairness, WaitersKeepTheirPlacesThroughARestart) {
  RedisServer server({.durable = GetParam()});
  Client holder = open(server.url());
  Lease lease = hold(holder, "x");
  Line line(server.url(), "x");
  server.kill();
  pause_for(300ms);
  server.restart();
  static_cast<void>(lease.release());  // at once: few of them are back
  EXPECT_EQ(line.wrong_pairs(), 0);
}

TEST(RedisSentinelFairness, WaitersKeepTheirPlacesThroughAnUnplannedFailover) {
  RedisWithSentinels servers;
  Client holder = open(servers.url());
  Lease lease = hold(holder, "x");
  Line line(servers.url(), "x");
  pause_for(200ms);  // The replica has it by then.
  const int former = servers.kill_master();
  servers.wait_for_another_master(former);
  static_cast<void>(lease.release());
  EXPECT_EQ(line.wrong_pairs(), 0);
}

TEST(RedisClusterFairness, WaitersKeepTheirPlacesWhenTheirSlotMoves) {
  RedisCluster cluster;
  Client holder = open(cluster.url());
  Lease lease = hold(holder, "x");
  Line line(cluster.url(), "x");
  const int slot = cluster.slot_of("x");
  const int from = cluster.master_of(slot);
  cluster.move_slot(slot, from == 0 ? 1 : 0);
  static_cast<void>(lease.release());
  EXPECT_EQ(line.wrong_pairs(), 0);
}

}  // namespace
}  // namespace holdfast::redis_tests
