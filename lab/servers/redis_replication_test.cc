#include "redis_replication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "certificates.h"

namespace holdfast::test {
namespace {

using testing::StartsWith;

struct Case {
  const char* name;
  RedisReplicationOptions options;
};

class RedisReplicationTest : public testing::TestWithParam<Case> {
 protected:
  RedisWithSentinels redis_{GetParam().options};
};

INSTANTIATE_TEST_SUITE_P(All, RedisReplicationTest,
                         testing::Values(Case{"plain", {}}, Case{"tls", {.tls = true}},
                                         Case{"tls_password_two_replicas",
                                              {.replicas = 2, .tls = true, .password = "secret"}}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST_P(RedisReplicationTest, WritesReachTheReplicas) {
  EXPECT_EQ(redis_.master(), 0);
  redis_.server(0).command({"SET", "a", "1"});
  EXPECT_EQ(redis_.server(0).command({"WAIT", std::to_string(redis_.servers() - 1), "5000"}),
            std::to_string(redis_.servers() - 1));
  EXPECT_EQ(redis_.server(1).command({"GET", "a"}), "1");
  EXPECT_THAT(redis_.server(1).command({"SET", "a", "2"}), StartsWith("ERR: READONLY"));
}

TEST_P(RedisReplicationTest, FailoverChoosesAnotherMasterAndKeepsTheFormerAsReplica) {
  const int second = redis_.failover();
  EXPECT_NE(second, 0);
  EXPECT_EQ(redis_.master(), second);
  EXPECT_THAT(redis_.server(second).command({"ROLE"}), StartsWith("master\n"));
  redis_.wait_until_ready();
  EXPECT_THAT(redis_.server(0).command({"ROLE"}), StartsWith("slave\n"));
}

TEST_P(RedisReplicationTest, AKilledMasterIsReplacedAndReturnsAsReplica) {
  EXPECT_EQ(redis_.kill_master(), 0);
  const int second = redis_.wait_for_another_master(0);
  EXPECT_EQ(redis_.server(second).command({"SET", "a", "1"}), "OK");
  redis_.server(0).restart();
  redis_.wait_until_ready();
  EXPECT_EQ(redis_.master(), second);
  EXPECT_EQ(redis_.server(0).command({"GET", "a"}), "1");
}

TEST(RedisReplicationFailoverTest, CanBeRepeatedAtOnce) {
  RedisWithSentinels redis;
  for (const int next : {1, 0, 1}) EXPECT_EQ(redis.failover(), next);
}

TEST(RedisReplicationUrlTest, NamesTheSentinels) {
  RedisWithSentinels redis({.tls = true, .password = "secret"});
  const auto port = [&](int i) { return std::to_string(redis.sentinel(i).port()); };
  EXPECT_EQ(redis.url(), "rediss+sentinel://:secret@127.0.0.1:" + port(0) +
                             ",127.0.0.1:" + port(1) + ",127.0.0.1:" + port(2) +
                             "/mymaster?ca=" + Certificates::shared().ca());
}

}  // namespace
}  // namespace holdfast::test
