// The recipe `table` when clients fall silent, rows stay locked, and rows are forgotten.
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
  explicit RowLock(const std::string& key) : client_("127.0.0.1", shared_server().port()) {
    client_.value("BEGIN; SELECT 1 FROM holdfast_lock WHERE name = '" + key + "' FOR UPDATE");
  }
  void end() { client_.value("ROLLBACK"); }

 private:
  test::PostgresClient client_;
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
  Result<Lease> lease = client.mutex("other", {.ttl = 3s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  RowLock row("crowd:frozen");
  std::vector<std::future<std::string>> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(std::async(std::launch::async, [&] {
      return told(client.mutex("frozen", kLong).try_acquire_for(20s));
    }));
  }
  const BootTime end = BootClock::now() + 4s;
  while (BootClock::now() < end && lease->held()) pause_for(50ms);
  EXPECT_TRUE(lease->held());
  const BootTime releasing = BootClock::now();
  EXPECT_EQ(told(lease->release()), "granted");
  EXPECT_LT(BootClock::now() - releasing, 3s);
  row.end();
  for (std::future<std::string>& each : callers) EXPECT_EQ(each.get(), "granted");
}

TEST(PostgresTableSilence, ALockedRowDelaysTheRenewalOfNoOther) {
  Client client = open(shared_server().url() + "?prefix=apart:");
  std::vector<Lease> leases;
  for (const char* name : {"a", "frozen", "b"}) {
    leases.push_back(client.mutex(name, {.ttl = 3s}).try_acquire().value());
  }
  RowLock row("apart:frozen");
  // Until what is frozen is lost, and another ttl.
  ASSERT_TRUE(eventually([&] { return !leases[1].held(); }));
  pause_for(3s);
  EXPECT_TRUE(leases[0].held());
  EXPECT_TRUE(leases[2].held());
  row.end();
}

// Notifications are lost with the connection that they come on, and nobody is told. Others are quick.
TEST(PostgresTableSilence, AWaiterWhoseConnectionsAreDeadGetsIn) {
  PostgresServer& server = shared_server();
  // It looks by itself less often than a grant lasts that nobody takes up.
  const LockOptions ttl{.ttl = 8s};
  Proxy proxy(server.port());
  Client deaf = open(url_of(proxy, "?prefix=deaf:"), ClientOptions{.request_timeout = 1s});
  const std::string url = server.url() + "?prefix=deaf:";
  Client others[2] = {open(url), open(url)};
  Lease first = others[0].mutex("x", ttl).acquire().value();
  Pending waiting = in_thread([&] { return deaf.mutex("x", ttl).try_acquire_for(12s); });
  ASSERT_TRUE(eventually([&] { return waiters(others[0], "x") == 1; }));
  proxy.cut();
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (Client& each : others) {
    threads.emplace_back([&] {
      while (!done) {
        const Result<Lease> lease = each.mutex("x", ttl).try_acquire_for(20s);
        pause_for(20ms);
      }
    });
  }
  ASSERT_EQ(told(first.release()), "granted");
  EXPECT_EQ(told(waiting.get()), "granted");
  done = true;
  for (std::thread& each : threads) each.join();
}

TEST(PostgresTableSilence, TokensGoOnAboveWhatARestoredBackupForgot) {
  PostgresServer server;
  Client client = open(server.url());
  Client waiting = open(server.url());
  const auto shared = [&] { return client.shared_mutex("y", kLong).acquire_shared()->token(); };
  const auto exclusive = [&] { return client.mutex("x", kLong).acquire()->token(); };
  Token last = std::max(exclusive(), shared());
  server.query("CREATE TABLE backup AS SELECT * FROM holdfast_lock");
  for (int i = 0; i < 3; ++i) last = std::max({last, exclusive(), shared()});
  server.query("TRUNCATE holdfast_lock; INSERT INTO holdfast_lock SELECT * FROM backup");
  EXPECT_GT(exclusive(), last);
  EXPECT_GT(shared(), last);
  // The same for one who is handed the lock.
  Lease lease = client.mutex("x", kLong).acquire().value();
  Pending next = in_thread([&] { return waiting.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(client, "x") == 1; }));
  last = std::max(last, lease.token());
  server.query("UPDATE holdfast_lock SET token = 2 WHERE name = 'x'");
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(next));
  const Result<Lease> won = next.get();
  ASSERT_EQ(told(won), "granted");
  EXPECT_GT(won->token(), last);
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
