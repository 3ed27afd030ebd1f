// The recipe `table` when clients fall silent, rows stay locked, and rows are forgotten.
#include "database_faults.h"
#include "mysql_testing.h"

namespace holdfast::mysql_tests {
namespace {

std::string url_of(const Proxy& proxy, const std::string& prefix) {
  return "mysql://root@127.0.0.1:" + std::to_string(proxy.port()) + "/holdfast?prefix=" + prefix;
}

class MysqlTableFaults : public MysqlTest {
 protected:
  // Makes the row of a lock, and holds nothing.
  static void make_row(Client& client, const Name& name) {
    ASSERT_EQ(told(client.mutex(name, kLong).try_acquire()), "granted");
  }
  static bool row_is_locked(const std::string& key) {
    try {
      server().query("SELECT 1 FROM holdfast.holdfast_lock WHERE name = '" + key +
                     "' FOR UPDATE NOWAIT");
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  }
  // A transaction that keeps a row, as a program does that we know nothing of.
  void lock_row(const std::string& key) {
    blocker_.query("BEGIN");
    blocker_.query("SELECT 1 FROM holdfast_lock WHERE name = '" + key + "' FOR UPDATE");
  }
  void unlock_row() { blocker_.query("ROLLBACK"); }

 private:
  MariadbClient blocker_{server().port(), "holdfast"};
};

// As a client that is stopped, or whose network is gone, after any of its requests: the server hears nothing more,
// not even the end of the connection.
TEST_F(MysqlTableFaults, ASilentClientKeepsNoRowLocked) {
  Proxy proxy(server().port());
  Client silent = open(url_of(proxy, "silent:"), ClientOptions{.request_timeout = 5s});
  Client other = open(server().url("prefix=silent:"));
  make_row(silent, "x");
  proxy.set(Direction::to_client, ProxyMode::drop);
  const auto reads = [] {
    return std::stoll(server().query("SHOW GLOBAL STATUS LIKE 'Com_select'").at(0).at(1));
  };
  const long long before = reads();
  Pending frozen = in_thread([&] { return silent.shared_mutex("x", kLong).try_acquire_shared(); });
  ASSERT_TRUE(eventually([&] { return reads() > before; }));
  EXPECT_FALSE(row_is_locked("silent:x"));
  EXPECT_EQ(told(other.mutex("x", kLong).try_acquire()), "granted");
  proxy.set(Direction::to_client, ProxyMode::pass);
  proxy.reset();
  ASSERT_TRUE(arrives(frozen));
}

TEST_F(MysqlTableFaults, CallersOfALockedRowDoNotCostAnotherLease) {
  Client client = open(server().url("prefix=crowd:"));
  make_row(client, "frozen");
  expect_callers_of_a_locked_row_cost_no_other_lease(
      client, [this] { lock_row("crowd:frozen"); }, [this] { unlock_row(); });
}

TEST_F(MysqlTableFaults, ALockedRowDelaysTheRenewalOfNoOther) {
  Client client = open(server().url("prefix=apart:"));
  expect_a_locked_row_delays_no_other_renewal(
      client, 6s, [this] { lock_row("apart:frozen"); }, [this] { unlock_row(); });
}

TEST_F(MysqlTableFaults, AWaiterWhoseConnectionsAreDeadGetsIn) {
  Proxy proxy(server().port());
  Client deaf = open(url_of(proxy, "deaf:"), ClientOptions{.request_timeout = 1s});
  expect_a_deaf_waiter_of_a_busy_row_gets_in(server().url("prefix=deaf:"), deaf, proxy);
}

TEST_F(MysqlTableFaults, TokensGoOnAboveWhatARestoredBackupForgot) {
  MariadbServer own;
  expect_tokens_above_those_of_a_backup(
      own.url(),
      [&] { own.query("CREATE TABLE holdfast.backup AS SELECT * FROM holdfast.holdfast_lock"); },
      [&] { own.query("REPLACE INTO holdfast.holdfast_lock SELECT * FROM holdfast.backup"); },
      [&] { own.query("UPDATE holdfast.holdfast_lock SET token = 2 WHERE name = 'x'"); });
}

class MysqlTableDefaults : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Mysql, MysqlTableDefaults,
                         testing::Values("READ-UNCOMMITTED", "SERIALIZABLE"),
                         [](const auto& level) { return level.param.substr(0, 4); });

TEST_P(MysqlTableDefaults, HostileDefaultsDoNoHarm) {
  // Loose: where the server knows it.
  MariadbServer own(
      {.arguments = {"--autocommit=0", "--transaction-isolation=" + GetParam(),
                     "--innodb-rollback-on-timeout=ON", "--wait-timeout=1",
                     "--interactive-timeout=1", "--innodb-lock-wait-timeout=1",
                     "--completion-type=RELEASE", "--loose-max-statement-time=1",
                     "--loose-max-execution-time=1000", "--loose-idle-transaction-timeout=1",
                     "--sql-mode=ANSI,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES"}});
  Client client = open(own.url());
  Client other = open(own.url());
  Token last;
  for (int round = 0; round < 2; ++round) {
    Result<Lease> lease = client.mutex("x", kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    EXPECT_GT(lease->token(), last);
    EXPECT_EQ(outcome_of(other.mutex("x", kLong).try_acquire()), "busy");
    Pending pending = in_thread([&] { return other.mutex("x", kLong).try_acquire_for(20s); });
    ASSERT_TRUE(eventually([&] { return client.inspect("x")->waiters.size() == 1; }));
    pause_for(1500ms);  // Longer than the defaults let a session be silent.
    EXPECT_EQ(told(lease->renew()), "granted");
    last = lease->token();
    ASSERT_EQ(told(lease->release()), "granted");
    ASSERT_TRUE(arrives(pending));
    Result<Lease> won = pending.get();
    ASSERT_EQ(told(won), "granted");
    EXPECT_GT(won->token(), last);
    last = won->token();
    ASSERT_EQ(told(won->release()), "granted");
  }
  Result<Lease> reader = client.shared_mutex("y", kLong).try_acquire_shared();
  EXPECT_EQ(told(reader), "granted");
  EXPECT_EQ(told(other.shared_mutex("y", kLong).try_acquire_shared()), "granted");
  EXPECT_EQ(outcome_of(other.mutex("y", kLong).try_acquire()), "busy");
  EXPECT_EQ(told(client.semaphore("z", 2, kLong).try_acquire()), "granted");
}

TEST(MysqlTableBinaryLog, AFormatThatCannotBeUsedIsNamed) {
  MariadbServer own({.arguments = {"--log-bin", "--server-id=1", "--binlog-format=STATEMENT"}});
  const std::string told_so = try_at(own.url());
  EXPECT_THAT(told_so, StartsWith("misconfigured"));
  EXPECT_THAT(told_so, HasSubstr("binlog_format"));
}

}  // namespace
}  // namespace holdfast::mysql_tests
