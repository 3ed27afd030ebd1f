// Grants of one life of the server, seen from the next: clocks that are not the same across a restart, and
// servers that take over.
#include <signal.h>

#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

class PostgresSuccession : public testing::TestWithParam<std::string> {
 protected:
  std::string url_on(const PostgresServer& server) const {
    return server.url() + "?recipe=" + GetParam();
  }
  std::string url_through(const Proxy& proxy) const {
    return url_of(proxy, "?recipe=" + GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(All, PostgresSuccession, testing::Values("advisory", "row"),
                         [](const auto& recipe) { return recipe.param; });

// The statistics survive a restart in good order, and with them a time that is ahead of the clock.
TEST_P(PostgresSuccession, ARestartInGoodOrderIsSeenAlthoughTheClockWasSetBack) {
  PostgresServer server({.movable_clock = true});
  server.clock().jump(1h);
  for (const char* which : {"bgwriter", "archiver", "wal"}) {
    server.query(std::string("SELECT pg_stat_reset_shared('") + which + "')");
  }
  server.clock().jump(-1h);
  Proxy proxy(server.port());
  Client cut = open(url_through(proxy));
  const Lease lease = cut.mutex("x", {.ttl = 6s}).try_acquire_for(20s).value();
  proxy.cut();
  ASSERT_EQ(kill(server.pid(), SIGINT), 0);
  ASSERT_TRUE(eventually([&] { return !server.running(); }));
  server.restart();
  Client other = open(url_on(server));
  const Result<Lease> next = other.mutex("x", {.ttl = 1s}).try_acquire_for(20s);
  ASSERT_EQ(told(next), "granted") << "the lock is stranded";
  EXPECT_FALSE(lease.held()) << "two hold it";
}

// Tools that watch a server do that.
TEST_P(PostgresSuccession, StatisticsThatSomebodyResetsAreNoNewLife) {
  PostgresServer server;
  ASSERT_EQ(told(open(url_on(server)).mutex("x", {.ttl = 10min}).try_acquire()), "granted");
  server.query("SELECT pg_stat_reset_shared('bgwriter')");
  EXPECT_EQ(told(open(url_on(server)).mutex("x", {.ttl = 1s}).try_acquire()), "granted");
}

// As a job that is started now and then, and does not wait.
TEST_P(PostgresSuccession, WhoDoesNotWaitIsGrantedOnceItIsOver) {
  PostgresServer primary({.arguments = {"-c", "wal_level=replica", "-c", "max_wal_senders=4"}});
  PostgresServer standby({.follows = primary.port()});
  Client client = open(url_on(primary));
  const Lease lease = client.mutex("x", {.ttl = 3s}).acquire().value();
  ASSERT_TRUE(eventually([&] {
    try {
      return standby.query("SELECT max(token) FROM holdfast_token") == lease.token().str();
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
  primary.kill();
  standby.promote();
  EXPECT_TRUE(eventually([&] {
    standby.query("CHECKPOINT");  // as it does every few minutes by itself
    Client job = open(url_on(standby));
    return outcome_of(job.mutex("x", {.ttl = 3s}).try_acquire()) == "granted";
  })) << "the lock is stranded";
  EXPECT_FALSE(lease.held()) << "two hold it";
}

// The rows came from another server, by logical replication or a copy; both are in their first timeline.
TEST_P(PostgresSuccession, RowsOfAnotherServerInTheSameTimeline) {
  PostgresServer first;
  PostgresServer second({.own_identity = true});
  Client other = open(url_on(second));
  ASSERT_EQ(told(other.mutex("y", {.ttl = 1s}).acquire()), "granted");
  pause_for(5s);
  Proxy proxy(first.port());
  Client cut = open(url_through(proxy));
  const Lease lease = cut.mutex("x", {.ttl = 4s}).acquire().value();
  proxy.cut();
  const std::string row = first.query(
      "SELECT format('INSERT INTO holdfast_token VALUES (%L, %L, %L, %L, %L, %L, %L, %L, %L)', "
      "lock_key,"
      " name, token, claim, session, xact, label, since, ttl_us) FROM holdfast_token");
  first.kill();
  second.query(row);
  const Result<Lease> next = other.mutex("x", {.ttl = 1s}).try_acquire_for(20s);
  ASSERT_EQ(told(next), "granted") << "the lock is stranded";
  EXPECT_FALSE(lease.held()) << "two hold it";
}

}  // namespace
}  // namespace holdfast::postgres_tests
