#include "zookeeper_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "waiting.h"

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ZooKeeperServerTest, ServesAndComesBackAfterARestart) {
  ZooKeeperServer server;
  EXPECT_EQ(server.mode(), "standalone");
  server.restart();
  EXPECT_EQ(server.mode(), "standalone");
  server.kill();
  EXPECT_EQ(server.mode(), "");
}

// It writes the year to its log.
TEST(ZooKeeperServerTest, FollowsAClockThatIsMoved) {
  ZooKeeperServer server({.movable_clock = true,
                          .jvm = {"-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
                                  "-Dorg.slf4j.simpleLogger.dateTimeFormat='the year' yyyy"}});
  EXPECT_THAT(server.log(), Not(HasSubstr("the year 2150")));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  server.clock().jump(std::chrono::seconds(5'694'624'000) -  // in the middle of 2150
                      std::chrono::duration_cast<std::chrono::seconds>(now));
  wait_for("the clock to be seen", [&] {
    server.ask("srvr");
    return server.log().find("the year 2150") != std::string::npos;
  });
  EXPECT_EQ(server.mode(), "standalone");
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
