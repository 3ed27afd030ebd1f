// Locks that live in a session die with the server's life: a restart, a crash of one backend, or a
// standby that takes over. A holder that was cut off does not hear of it. Nobody else may hold what it
// still believes in.
#include <signal.h>

#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

class PostgresSessionLife : public testing::TestWithParam<std::string> {
 protected:
  std::string url_on(const PostgresServer& server, const std::string& options = "") const {
    return server.url() + "?recipe=" + GetParam() + options;
  }
};

INSTANTIATE_TEST_SUITE_P(All, PostgresSessionLife, testing::Values("advisory", "row"),
                         [](const auto& recipe) { return recipe.param; });

// The next one is granted, and only when `before` is over.
void expect_granted_after(const Lease& before, const std::string& url) {
  Client other = open(url);
  const Result<Lease> next = other.mutex("x", {.ttl = 1s}).try_acquire_for(30s);
  ASSERT_EQ(told(next), "granted") << "the lock is stranded";
  EXPECT_FALSE(before.held()) << "two hold it";
  EXPECT_GE(BootClock::now(), before.valid_until());
  EXPECT_GT(next->token(), before.token());
}

TEST_P(PostgresSessionLife, ARestartedServerGrantsNothingThatACutOffHolderBelievesIn) {
  PostgresServer server;
  Proxy proxy(server.port());
  Client cut = open(url_of(proxy, "?recipe=" + GetParam()));
  const Lease lease = cut.mutex("x", {.ttl = 6s}).acquire().value();
  proxy.cut();
  server.restart();
  Client hasty = open(url_on(server));
  const Result<Lease> at_once = hasty.mutex("x", {.ttl = 1s}).try_acquire();
  EXPECT_TRUE(!at_once || !lease.held()) << "two hold it";
  expect_granted_after(lease, url_on(server));
}

// PostgreSQL then ends all sessions and begins anew, without a new postmaster.
TEST_P(PostgresSessionLife, ACrashedBackendIsARestart) {
  PostgresServer server;
  Proxy proxy(server.port());
  Client cut = open(url_of(proxy, "?recipe=" + GetParam()));
  const Lease lease = cut.mutex("x", {.ttl = 6s}).acquire().value();
  proxy.cut();
  const std::string began = server.query("SELECT pg_postmaster_start_time()");
  test::PostgresClient victim("127.0.0.1", server.port());
  const pid_t backend = std::atoi(victim.value("SELECT pg_backend_pid()").c_str());
  ASSERT_EQ(kill(backend, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] {
    try {
      // Not before: the old sessions would still be there.
      victim.value("SELECT 1");
      return false;
    } catch (const std::runtime_error&) {
    }
    try {
      return server.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == "0" &&
             server.query("SELECT pg_postmaster_start_time()") == began;
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
  expect_granted_after(lease, url_on(server));
}

// It was started long ago, and its locks begin now.
TEST_P(PostgresSessionLife, APromotedStandbyGrantsNothingThatACutOffHolderBelievesIn) {
  PostgresServer primary({.arguments = {"-c", "wal_level=replica", "-c", "max_wal_senders=4"}});
  PostgresServer standby({.follows = primary.port()});
  Proxy proxy(primary.port());
  Client cut = open(url_of(proxy, "?recipe=" + GetParam()));
  const Lease lease = cut.mutex("x", {.ttl = 6s}).acquire().value();
  proxy.cut();
  ASSERT_TRUE(eventually([&] {
    try {
      return standby.query("SELECT max(token) FROM holdfast_token") == lease.token().str();
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
  primary.kill();
  standby.promote();
  expect_granted_after(lease, url_on(standby));
}

TEST(PostgresAdvisoryLife, SharedHoldersThatAreCutOffAreWaitedForAsWell) {
  PostgresServer server;
  Proxy proxy(server.port());
  Client cut = open(url_of(proxy, "?recipe=advisory"));
  Client brief = open(server.url() + "?recipe=advisory");
  const Lease lease = cut.shared_mutex("x", {.ttl = 6s}).acquire_shared().value();
  ASSERT_EQ(told(brief.shared_mutex("x", {.ttl = 1s}).acquire_shared()), "granted");
  proxy.cut();
  server.restart();
  expect_granted_after(lease, server.url() + "?recipe=advisory");
}

TEST_P(PostgresSessionLife, ALockOfThisLifeIsHandedOnAtOnceHoweverYoungTheServer) {
  PostgresServer server;
  Client client = open(url_on(server));
  const BootTime begun = BootClock::now();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(told(client.mutex("x", {.ttl = 10min}).try_acquire()), "granted");
  }
  server.restart();
  ASSERT_EQ(told(client.mutex("another", {.ttl = 10min}).try_acquire_for(20s)), "granted");
  EXPECT_LT(BootClock::now() - begun, 60s);
  EXPECT_EQ(outcome_of(client.mutex("x", {.ttl = 1s}).try_acquire()), "busy");
}

// The documented rights and no more.
TEST_P(PostgresSessionLife, AnOrdinaryUserKnowsWhenTheServerBegan) {
  PostgresServer server;
  {
    Client owner = open(url_on(server));
    ASSERT_EQ(told(owner.mutex("x", {.ttl = 1s}).acquire()), "granted");
  }
  server.query(
      "CREATE ROLE app LOGIN;"
      " GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app");
  const std::string url = server.url("app") + "?create_schema=no&recipe=" + GetParam();
  Client app = open(url);
  ASSERT_EQ(told(app.mutex("x", {.ttl = 5s}).try_acquire()), "granted");
  server.restart();
  EXPECT_EQ(outcome_of(app.mutex("x", {.ttl = 1s}).try_acquire_for(100ms)), "busy");
  EXPECT_EQ(told(app.mutex("x", {.ttl = 1s}).try_acquire_for(20s)), "granted");
}

// As a failover to a standby that lags, or a backup that is restored.
TEST_P(PostgresSessionLife, TokensGoOnAboveWhatARestoredBackupForgot) {
  PostgresServer server;
  const auto grant = [&] {
    Client client = open(url_on(server));
    return client.mutex("x", {.ttl = 1s}).try_acquire_for(20s).value().token();
  };
  grant();
  server.query("CREATE TABLE backup AS SELECT * FROM holdfast_token");
  Token last;
  for (int i = 0; i < 3; ++i) last = grant();
  server.query("DELETE FROM holdfast_token; INSERT INTO holdfast_token SELECT * FROM backup");
  EXPECT_GT(grant(), last) << "a token came twice, or a lower one";
}

TEST_P(PostgresSessionLife, WithoutTokensNobodyRemembersAndItSaysSo) {
  Client client = open(url_on(shared_server(), "&tokens=no"));
  EXPECT_EQ(client.guarantees().exclusion, Exclusion::best_effort);
  EXPECT_EQ(open(url_on(shared_server())).guarantees().exclusion, Exclusion::bounded_by_clocks);
}

}  // namespace
}  // namespace holdfast::postgres_tests
