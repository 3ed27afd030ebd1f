// The recipe `table` when clients fall silent, rows stay locked, and rows are forgotten.
#include "database_faults.h"
#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

// Makes the row of a lock, and holds nothing.
void make_row(Client& client, const Name& name) {
  ASSERT_EQ(told(client.mutex(name, kLong).try_acquire()), "granted");
}
bool row_is_locked(const std::string& key) {
  try {
    shared_server().query("SELECT 1 FROM holdfast_lock WHERE name = '" + key +
                          "' FOR UPDATE NOWAIT");
    return false;
  } catch (const std::runtime_error&) {
    return true;
  }
}
// A transaction that keeps a row, as a program does that we know nothing of.
class RowLock {
 public:
  void begin(const std::string& key) {
    client_.value("BEGIN; SELECT 1 FROM holdfast_lock WHERE name = '" + key + "' FOR UPDATE");
  }
  void end() { client_.value("ROLLBACK"); }

 private:
  test::PostgresClient client_{"127.0.0.1", shared_server().port()};
};

// As a client that is stopped, or whose network is gone, between its BEGIN and its COMMIT: the server
// hears nothing more, not even the end of the connection.
TEST(PostgresTableSilence, ASilentClientInsideATurnKeepsItsLockForSecondsOnly) {
  PostgresServer& server = shared_server();
  Proxy proxy(server.port());
  Client silent = open(url_of(proxy, "?prefix=silence:"), ClientOptions{.request_timeout = 60s});
  Client other = open(server.url() + "?prefix=silence:");
  make_row(silent, "x");
  proxy.set(Direction::to_client, ProxyMode::drop);
  Pending frozen = in_thread([&] { return silent.shared_mutex("x", kLong).try_acquire_shared(); });
  ASSERT_TRUE(eventually([&] { return row_is_locked("silence:x"); }));
  const BootTime begun = BootClock::now();
  EXPECT_EQ(told(other.mutex("x", kLong).try_acquire_for(20s)), "granted");
  EXPECT_LT(BootClock::now() - begun, 15s);
  proxy.set(Direction::to_client, ProxyMode::pass);
  proxy.reset();
  ASSERT_TRUE(arrives(frozen));
}

TEST(PostgresTableSilence, CallersOfALockedRowDoNotCostAnotherLease) {
  Client client = open(shared_server().url() + "?prefix=crowd:");
  make_row(client, "frozen");
  RowLock row;
  expect_callers_of_a_locked_row_cost_no_other_lease(
      client, [&] { row.begin("crowd:frozen"); }, [&] { row.end(); });
}

TEST(PostgresTableSilence, ALockedRowDelaysTheRenewalOfNoOther) {
  Client client = open(shared_server().url() + "?prefix=apart:");
  RowLock row;
  expect_a_locked_row_delays_no_other_renewal(
      client, 3s, [&] { row.begin("apart:frozen"); }, [&] { row.end(); });
}

TEST(PostgresTableSilence, AWaiterWhoseConnectionsAreDeadGetsIn) {
  PostgresServer& server = shared_server();
  Proxy proxy(server.port());
  Client deaf = open(url_of(proxy, "?prefix=deaf:"), ClientOptions{.request_timeout = 1s});
  expect_a_deaf_waiter_of_a_busy_row_gets_in(server.url() + "?prefix=deaf:", deaf, proxy);
}

TEST(PostgresTableSilence, TokensGoOnAboveWhatARestoredBackupForgot) {
  PostgresServer server;
  expect_tokens_above_those_of_a_backup(
      server.url(), [&] { server.query("CREATE TABLE backup AS SELECT * FROM holdfast_lock"); },
      [&] {
        server.query("TRUNCATE holdfast_lock; INSERT INTO holdfast_lock SELECT * FROM backup");
      },
      [&] { server.query("UPDATE holdfast_lock SET token = 2 WHERE name = 'x'"); });
}

// Old versions of a row cannot be removed while anybody may still want to see them.
TEST(PostgresTableSilence, AHotLockBesideAnOldSnapshotStaysCheap) {
  PostgresServer server;
  const auto pairs = [&](int count) {
    Client client = open(server.url());
    for (int i = 0; i < count; ++i) ASSERT_EQ(told(client.mutex("x", kLong).acquire()), "granted");
  };
  pairs(1);
  test::PostgresClient reader("127.0.0.1", server.port());
  reader.value("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM holdfast_lock");
  // Sessions tell what they have read when they end.
  const auto pages_read = [&] {
    EXPECT_TRUE(eventually([&] {
      return server.query(
                 "SELECT count(*) FROM pg_stat_activity"
                 " WHERE application_name = 'holdfast'") == "0";
    }));
    return std::stoll(
        server.query("SELECT heap_blks_hit + heap_blks_read FROM pg_statio_user_tables"
                     " WHERE relname = 'holdfast_lock'"));
  };
  pairs(600);
  const long long before = pages_read();
  pairs(250);
  EXPECT_LT(pages_read() - before, 250 * 30) << "pages of the table";
}

TEST(PostgresTableSilence, HostileDefaultsDoNoHarm) {
  PostgresServer server(
      {.arguments = {"-c", "default_transaction_isolation=serializable", "-c",
                     "idle_session_timeout=500ms", "-c", "idle_in_transaction_session_timeout=50ms",
                     "-c", "statement_timeout=500ms", "-c", "lock_timeout=100ms", "-c",
                     "bytea_output=escape", "-c", "synchronous_commit=off"}});
  Client client = open(server.url());
  Client other = open(server.url());
  // Every byte that a label or a name may have comes back.
  const Name name("a\\\x01\xff'\"");
  for (int round = 0; round < 2; ++round) {
    Result<Lease> lease = client.mutex(name, kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    Pending pending = in_thread([&] { return other.mutex(name, kLong).try_acquire_for(20s); });
    ASSERT_TRUE(eventually([&] { return waiters(client, name) == 1; }));
    // One whose row is locked for longer than the defaults let it wait.
    test::PostgresClient blocker("127.0.0.1", server.port());
    blocker.value(
        "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; BEGIN;"
        " SELECT 1 FROM holdfast_lock FOR UPDATE");
    std::jthread releasing([&] { EXPECT_EQ(told(lease->release()), "granted"); });
    pause_for(900ms);
    blocker.value("ROLLBACK");
    ASSERT_TRUE(arrives(pending));
    EXPECT_EQ(told(pending.get()), "granted");
  }
  EXPECT_EQ(client.list("")->size(), 0U);
  Result<Lease> reader = client.shared_mutex("y", kLong).try_acquire_shared();
  EXPECT_EQ(told(reader), "granted");
  EXPECT_EQ(outcome_of(other.mutex("y", kLong).try_acquire()), "busy");
  EXPECT_EQ(client.list("")->size(), 1U);
}

}  // namespace
}  // namespace holdfast::postgres_tests
