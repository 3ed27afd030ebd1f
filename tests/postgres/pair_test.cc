// Locks on several PostgreSQL servers of which one can be written: it is found, followed, and never mistaken.
#include "database_faults.h"
#include "holdfast/versioned.h"
#include "pair_testing.h"

namespace holdfast::postgres_tests {
namespace {

class PostgresPair : public testing::TestWithParam<std::string> {
 protected:
  std::string recipe() const { return "?recipe=" + GetParam(); }
  bool is_table() const { return GetParam() == "table"; }
};

// Of clients of locks.
std::string connections(const PostgresServer& server) {
  return server.query(
      "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'holdfast%'");
}

INSTANTIATE_TEST_SUITE_P(All, PostgresPair, testing::Values("table", "advisory", "row"),
                         [](const auto& recipe) { return recipe.param; });

TEST_P(PostgresPair, ThePrimaryIsFoundWhateverTheOrderOfTheHosts) {
  Pair pair;
  for (const auto& ports : {std::vector{pair.primary.port(), pair.standby.port()},
                            std::vector{pair.standby.port(), pair.primary.port()}}) {
    Client client = open(url_of(ports, recipe()));
    EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
    EXPECT_EQ(client.guarantees().exclusion, Exclusion::best_effort);
  }
}

TEST_P(PostgresPair, WithoutAPrimaryNothingIsGrantedAndTheReasonIsGiven) {
  Pair pair;
  pair.primary.kill();
  Client client = open(url_of(pair, recipe()));
  const Result<Lease> none = client.mutex("x", kLong).try_acquire();
  EXPECT_THAT(told(none), testing::StartsWith("unreachable"));
  EXPECT_THAT(none.message(), HasSubstr("none of its servers can be written"));
  EXPECT_THAT(none.message(),
              HasSubstr(std::to_string(pair.standby.port()) + ": it can only be read"));
}

TEST_P(PostgresPair, ServersOfTwoClustersAreRefused) {
  Pair pair;
  PostgresServer foreign({.own_identity = true});
  Client client = open(url_of({pair.primary.port(), foreign.port()}, recipe()));
  const Result<Lease> refused = client.mutex("x", kLong).try_acquire();
  EXPECT_THAT(told(refused), testing::StartsWith("misconfigured"));
  EXPECT_THAT(refused.message(), HasSubstr("do not replicate one another"));
}

TEST_P(PostgresPair, AHolderHoldsOnOrIsToldAtOnceWhenTheStandbyTakesOver) {
  Pair pair;
  Client client = open(url_of(pair, recipe()));
  Lease lease = client.mutex("x", {.ttl = 4s}).acquire().value();
  const Token token = lease.token();
  pair.switch_over();
  if (is_table()) {
    pause_for(5s);
    EXPECT_TRUE(lease.held()) << "the row was replicated, so the lease goes on";
    EXPECT_EQ(pair.standby.query("SELECT token FROM holdfast_lock"), token.str());
    EXPECT_EQ(told(lease.release()), "granted");
  } else {
    EXPECT_TRUE(eventually([&] { return !lease.held(); })) << "its session has ended";
  }
  const Result<Lease> next = client.mutex("x", {.ttl = 4s}).try_acquire_for(20s);
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), token);
}

TEST_P(PostgresPair, AWaiterIsServedByTheStandbyThatTookOver) {
  Pair pair;
  expect_a_waiter_is_served_by_the_successor(url_of(pair, recipe()), is_table(),
                                             [&] { pair.switch_over(); });
}

TEST_P(PostgresPair, AnOldPrimaryThatNobodyFencedIsLeftForTheNewOne) {
  Pair pair;
  Client client = open(url_of(pair, recipe()));
  // Leases that are renewed in vain at the old primary must not be over by then.
  Lease lease = client.mutex("x", {.ttl = 15s}).acquire().value();
  Lease other = client.mutex("y", {.ttl = 15s}).acquire().value();
  pair.catch_up();
  pair.standby.promote();
  EXPECT_TRUE(eventually([&] { return connections(pair.primary) == "0"; }, 10s));
  if (is_table()) {
    EXPECT_EQ(told(lease.renew()), "granted");
    EXPECT_EQ(told(other.release()), "granted");
    EXPECT_EQ(pair.standby.query("SELECT owner IS NULL FROM holdfast_lock WHERE name = 'y'"), "t");
  } else {
    EXPECT_TRUE(eventually([&] { return !lease.held() && !other.held(); }));
  }
  Client late = open(url_of({pair.primary.port(), pair.standby.port()}, recipe()));
  EXPECT_EQ(told(late.mutex("z", kLong).try_acquire()), "granted");
  EXPECT_EQ(pair.primary.query(is_table() ? "SELECT count(*) FROM holdfast_lock WHERE name = 'z'"
                                          : "SELECT count(*) FROM holdfast_token WHERE name = 'z'"),
            "0");
}

TEST_P(PostgresPair, AClientThatHasSeenTheNewPrimaryDoesNotGoBackToTheOldOne) {
  Pair pair;
  Client client = open(url_of(pair, recipe()));
  const Lease lease = client.mutex("x", kLong).try_acquire().value();
  pair.catch_up();
  pair.standby.promote();
  ASSERT_TRUE(eventually([&] { return connections(pair.primary) == "0"; }, 10s));
  pair.standby.kill();
  std::string last;
  EXPECT_TRUE(eventually([&] {
    last = told(client.mutex("y", kLong).try_acquire());
    return last.find("it is an old primary") != std::string::npos;
  })) << last;
}

// Some services do that before they stop a server, or when its disk is full.
TEST_P(PostgresPair, AServerThatBecomesReadOnlyIsLeftAtOnce) {
  Pair pair;
  Client client = open(url_of(pair, recipe()));
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  pair.catch_up();
  pair.primary.query("ALTER SYSTEM SET default_transaction_read_only = on");
  pair.primary.query("SELECT pg_reload_conf()");
  pair.standby.promote();
  pause_for(200ms);
  EXPECT_EQ(told(client.mutex("y", kLong).try_acquire()), "granted");
  EXPECT_NE(pair.standby.query(is_table() ? "SELECT count(*) FROM holdfast_lock WHERE name = 'y'"
                                          : "SELECT count(*) FROM holdfast_token WHERE name = 'y'"),
            "0");
}

TEST_P(PostgresPair, ASilentServerCostsLittle) {
  Pair pair;
  Proxy silent(pair.standby.port());
  silent.set_both(ProxyMode::hold);
  const BootTime begun = BootClock::now();
  Client client = open(url_of({silent.port(), pair.primary.port()}, recipe()));
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  EXPECT_LT(BootClock::now() - begun, 2s) << "the request timeout is 5 s";
}

TEST_P(PostgresPair, APrimaryThatFallsSilentIsLeft) {
  Pair pair;
  Proxy primary(pair.primary.port());
  Client client =
      open(url_of({primary.port(), pair.standby.port()}, recipe()), {.request_timeout = 1s});
  ASSERT_EQ(told(client.mutex("x", {.ttl = 2s}).try_acquire()), "granted");
  pair.catch_up();
  primary.set_both(ProxyMode::hold);
  pair.standby.promote();
  EXPECT_EQ(told(client.mutex("y", {.ttl = 2s}).try_acquire_for(10s)), "granted");
}

TEST(PostgresPairTable, WithSynchronousReplicationNoGrantIsForgotten) {
  PostgresServer primary(as_primary({"-c", "synchronous_commit=local"}));
  Proxy slow(primary.port());
  PostgresServer standby({.follows = slow.port()});
  primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  primary.query("SELECT pg_reload_conf()");
  ASSERT_TRUE(eventually(
      [&] { return primary.query("SELECT sync_state FROM pg_stat_replication") == "sync"; }));
  Client client = open(url_of({primary.port(), standby.port()}));
  ASSERT_EQ(told(client.mutex("before", kLong).try_acquire()), "granted");
  slow.set_both(ProxyMode::delay, 150ms);
  Lease lease = client.mutex("x", kLong).try_acquire().value();
  primary.kill();
  standby.promote();
  EXPECT_EQ(standby.query("SELECT token FROM holdfast_lock WHERE name = 'x'"), lease.token().str());
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(told(lease.release()), "granted");
}

TEST(PostgresPairRows, VersionedRowsFollowThePrimary) {
  Pair pair;
  pair.primary.query("CREATE TABLE account (id text PRIMARY KEY, version bigint, balance bigint)");
  Versioned rows =
      Versioned::open(url_of(pair), {.table = "account", .columns = {"balance"}}).value();
  ASSERT_EQ(told(rows.insert("a", {std::string("1")})), "granted");
  pair.switch_over();
  std::string last;
  EXPECT_TRUE(eventually([&] {
    last = told(rows.update(
        "a", [](std::vector<Versioned::Value>& values) { values[0] = std::string("2"); }));
    return last == "granted";
  })) << last;
  EXPECT_EQ(pair.standby.query("SELECT balance FROM account"), "2");
}

}  // namespace
}  // namespace holdfast::postgres_tests
