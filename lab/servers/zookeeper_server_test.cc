#include "zookeeper_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "waiting.h"

namespace holdfast::test {
namespace {

using testing::HasSubstr;

TEST(ZooKeeperServerTest, ServesAndComesBackAfterARestart) {
  ZooKeeperServer server;
  EXPECT_EQ(server.mode(), "standalone");
  server.restart();
  EXPECT_EQ(server.mode(), "standalone");
  server.kill();
  EXPECT_EQ(server.mode(), "");
}

TEST(ZooKeeperServerTest, HasATlsPort) {
  ZooKeeperServer server({.tls = true});
  EXPECT_THAT(server.url(), HasSubstr("zookeeper+tls://127.0.0.1:"));
  EXPECT_EQ(server.mode(), "standalone");
}

TEST(ZooKeeperEnsembleTest, ElectsAnotherLeaderWhenOneIsKilled) {
  ZooKeeperEnsemble ensemble;
  const std::size_t first = ensemble.leader();
  ensemble.at(first).kill();
  const std::size_t second = ensemble.leader();
  EXPECT_NE(first, second);
  ensemble.at(first).restart();
  ensemble.wait_until_all_serve();
}

TEST(ZooKeeperEnsembleTest, TheFirstCanBeCutOffAndComesBack) {
  ZooKeeperEnsemble ensemble({.proxied_first = true});
  if (ensemble.leader() == 0) {
    ensemble.at(0).restart();  // Then another leads.
    ensemble.wait_until_all_serve();
  }
  ASSERT_NE(ensemble.leader(), 0U);
  ensemble.isolate_first(true);
  wait_for("the first to notice", [&] { return ensemble.at(0).mode().empty(); });
  EXPECT_NE(ensemble.leader(), 0U) << "the others go on";
  ensemble.isolate_first(false);
  wait_for("the first to be back", [&] { return ensemble.at(0).mode() == "follower"; });
}

}  // namespace
}  // namespace holdfast::test
