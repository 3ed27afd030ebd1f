#include "mariadb_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "waiting.h"

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(MariadbServerTest, IsTheProductThatItSays) {
  const MariadbServer server;
  EXPECT_THAT(server.value("SELECT VERSION()"), StartsWith(server.product().version()));
  const bool mariadb = server.product().is("mariadb");
  EXPECT_EQ(server.value("SELECT VERSION() LIKE '%MariaDB%'"), mariadb ? "1" : "0");
  EXPECT_EQ(server.value("SELECT COUNT(*) FROM information_schema.SCHEMATA "
                         "WHERE SCHEMA_NAME = 'holdfast'"),
            "1");
}

TEST(MariadbServerTest, ARestartKeepsWhatWasCommitted) {
  MariadbServer server;
  server.query("CREATE TABLE holdfast.t AS SELECT 7 AS n");
  server.kill();
  server.restart();
  EXPECT_EQ(server.value("SELECT n FROM holdfast.t"), "7");
}

TEST(MariadbServerTest, AFollowerHasWhatItsLeaderWritesUntilItIsPromoted) {
  const MariadbServer leader({.arguments = {"--log-bin", "--server-id=1"}});
  const MariadbServer follower({.arguments = {"--log-bin", "--server-id=2"}});
  follower.follow(leader, leader.port());
  leader.query("CREATE TABLE holdfast.t AS SELECT 7 AS n");
  wait_for("the follower", [&] { return follower.value("SELECT n FROM holdfast.t") == "7"; });
  follower.promote();
  leader.query("UPDATE holdfast.t SET n = 8");
  follower.query("UPDATE holdfast.t SET n = n + 1");
  EXPECT_EQ(follower.value("SELECT n FROM holdfast.t"), "8");
  EXPECT_EQ(leader.value("SELECT n FROM holdfast.t"), "8");
}

TEST(MariadbServerTest, ItsClockMoves) {
  MariadbServer server({.movable_clock = true});
  const long long before = std::stoll(server.value("SELECT UNIX_TIMESTAMP()"));
  server.clock().jump(std::chrono::hours(1));
  EXPECT_GE(std::stoll(server.value("SELECT UNIX_TIMESTAMP()")), before + 3600);
}

}  // namespace
}  // namespace holdfast::test
