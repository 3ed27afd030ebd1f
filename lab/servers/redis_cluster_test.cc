#include "redis_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "certificates.h"

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Case {
  const char* name;
  RedisClusterOptions options;
};

class RedisClusterTest : public testing::TestWithParam<Case> {
 protected:
  // Of the same slot, which belongs to node 2.
  static constexpr const char* kKey = "{a}1";
  static constexpr const char* kOtherKey = "{a}2";
  static constexpr int kSlot = 15495;

  RedisCluster cluster_{GetParam().options};
};

INSTANTIATE_TEST_SUITE_P(All, RedisClusterTest,
                         testing::Values(Case{"plain", {}}, Case{"tls", {.tls = true}},
                                         Case{"password", {.password = "secret"}}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST_P(RedisClusterTest, EveryNodeKnowsAllSlotsAndReplicas) {
  for (int i = 0; i < RedisCluster::kNodes; ++i) {
    const std::string state = cluster_.node(i).command({"CLUSTER", "INFO"});
    EXPECT_THAT(state, HasSubstr("cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
                                 "cluster_slots_ok:16384\r\n"));
    EXPECT_THAT(state, HasSubstr("cluster_known_nodes:6\r\ncluster_size:3\r\n"));
    EXPECT_THAT(cluster_.node(i).command({"ROLE"}), StartsWith(i < 3 ? "master\n" : "slave\n"));
    const auto view = RedisClusterView::parse(cluster_.node(i).command({"CLUSTER", "NODES"}));
    for (std::size_t j = 3; j < 6; ++j) EXPECT_EQ(view.nodes[j].master, static_cast<int>(j) - 3);
    EXPECT_EQ(cluster_.node(i).command({"CONFIG", "GET", "cluster-require-full-coverage"}),
              "cluster-require-full-coverage\nyes");
  }
  for (const int slot : {0, 5460, 5461, 10922, 10923, 16383}) {
    EXPECT_EQ(cluster_.master_of(slot), slot <= 5460 ? 0 : slot <= 10922 ? 1 : 2) << slot;
  }
}

TEST_P(RedisClusterTest, OthersAnswerMovedWithThePortOfTheOwner) {
  ASSERT_EQ(cluster_.slot_of(kKey), kSlot);
  EXPECT_EQ(cluster_.node(2).command({"SET", kKey, "1"}), "OK");
  EXPECT_EQ(cluster_.node(0).command({"GET", kKey}),
            "ERR: MOVED 15495 127.0.0.1:" + std::to_string(cluster_.node(2).plain_port()));
}

TEST_P(RedisClusterTest, MovesASlotWithItsKeys) {
  cluster_.node(2).command({"SET", kKey, "1"});
  cluster_.move_slot(kSlot, 1);
  EXPECT_EQ(cluster_.master_of(kSlot), 1);
  EXPECT_EQ(cluster_.node(1).command({"GET", kKey}), "1");
  EXPECT_THAT(cluster_.node(2).command({"GET", kKey}), StartsWith("ERR: MOVED 15495 "));
  cluster_.move_slot(kSlot, 2);
  EXPECT_EQ(cluster_.node(2).command({"GET", kKey}), "1");
}

TEST_P(RedisClusterTest, HalfwayTheSourceAnswersAsk) {
  cluster_.node(2).command({"SET", kKey, "1"});
  cluster_.begin_moving(kSlot, 0);
  EXPECT_EQ(cluster_.node(2).command({"GET", kKey}), "1");
  EXPECT_THAT(cluster_.node(2).command({"GET", kOtherKey}), StartsWith("ERR: ASK 15495 "));
  EXPECT_EQ(cluster_.node(0).command({"ASKING"}), "OK");
  EXPECT_EQ(cluster_.node(0).command({"SET", kOtherKey, "2"}), "OK");
  cluster_.move_keys(kSlot, 1);
  EXPECT_THAT(cluster_.node(2).command({"GET", kKey}), StartsWith("ERR: ASK 15495 "));
  cluster_.finish_moving(kSlot);
  EXPECT_EQ(cluster_.node(0).command({"MGET", kKey, kOtherKey}), "1\n2");
}

TEST_P(RedisClusterTest, AReplicaReplacesAKilledMasterThatReturnsAsReplica) {
  cluster_.node(2).command({"SET", kKey, "1"});
  EXPECT_EQ(cluster_.node(2).command({"WAIT", "1", "5000"}), "1");
  EXPECT_EQ(cluster_.kill_master_of(kSlot), 2);
  cluster_.wait_until_ok();
  EXPECT_EQ(cluster_.master_of(kSlot), 5);
  EXPECT_EQ(cluster_.node(5).command({"GET", kKey}), "1");
  cluster_.node(2).restart();
  cluster_.wait_until_ok();
  EXPECT_THAT(cluster_.node(2).command({"ROLE"}), StartsWith("slave\n"));
}

TEST_P(RedisClusterTest, UrlNamesTheFirstMasters) {
  const RedisClusterOptions& options = GetParam().options;
  const auto place = [&](int i) { return "127.0.0.1:" + std::to_string(cluster_.node(i).port()); };
  const std::string user = options.password.empty() ? "" : ":" + options.password + "@";
  EXPECT_EQ(cluster_.url(), (options.tls ? "rediss+cluster://" : "redis+cluster://") + user +
                                place(0) + "," + place(1) + "," + place(2) +
                                (options.tls ? "?ca=" + Certificates::shared().ca() : ""));
}

}  // namespace
}  // namespace holdfast::test
