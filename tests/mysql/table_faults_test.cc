// The recipe `table` when clients fall silent, rows stay locked, and rows are forgotten.
#include "mysql_testing.h"

namespace holdfast::mysql_tests {
namespace {

using test::Direction;
using test::ProxyMode;

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
  static void lock_row(MariadbClient& blocker, const std::string& key) {
    blocker.query("BEGIN");
    blocker.query("SELECT 1 FROM holdfast_lock WHERE name = '" + key + "' FOR UPDATE");
  }
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
  Result<Lease> lease = client.mutex("other", {.ttl = 3s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  MariadbClient blocker(server().port(), "holdfast");
  lock_row(blocker, "crowd:frozen");
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
  blocker.query("ROLLBACK");
  for (std::future<std::string>& each : callers) EXPECT_EQ(each.get(), "granted");
}

TEST_F(MysqlTableFaults, ALockedRowDelaysTheRenewalOfNoOther) {
  Client client = open(server().url("prefix=apart:"));
  std::vector<Lease> leases;
  for (const char* name : {"a", "frozen", "b"}) {
    leases.push_back(client.mutex(name, {.ttl = 6s}).try_acquire().value());
  }
  MariadbClient blocker(server().port(), "holdfast");
  lock_row(blocker, "apart:frozen");
  // Until what is frozen is lost, and another ttl.
  ASSERT_TRUE(eventually([&] { return !leases[1].held(); }));
  pause_for(6s);
  EXPECT_TRUE(leases[0].held());
  EXPECT_TRUE(leases[2].held());
  blocker.query("ROLLBACK");
}

// Notifications are lost with the connection that they come on, and nobody is told. Others are quick.
TEST_F(MysqlTableFaults, AWaiterWhoseConnectionsAreDeadGetsIn) {
  // It looks by itself less often than a grant lasts that nobody takes up.
  const LockOptions ttl{.ttl = 8s};
  Proxy proxy(server().port());
  Client deaf = open(url_of(proxy, "deaf:"), ClientOptions{.request_timeout = 1s});
  Client others[2] = {open(server().url("prefix=deaf:")), open(server().url("prefix=deaf:"))};
  Lease first = others[0].mutex("x", ttl).acquire().value();
  Pending waiting = in_thread([&] { return deaf.mutex("x", ttl).try_acquire_for(12s); });
  ASSERT_TRUE(eventually([&] { return others[0].inspect("x")->waiters.size() == 1; }));
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

TEST_F(MysqlTableFaults, TokensGoOnAboveWhatARestoredBackupForgot) {
  MariadbServer own;
  Client client = open(own.url());
  Client waiting = open(own.url());
  const auto shared = [&] { return client.shared_mutex("y", kLong).acquire_shared()->token(); };
  const auto exclusive = [&] { return client.mutex("x", kLong).acquire()->token(); };
  Token last = std::max(exclusive(), shared());
  own.query("CREATE TABLE holdfast.backup AS SELECT * FROM holdfast.holdfast_lock");
  const auto restore = [&] {
    own.query("REPLACE INTO holdfast.holdfast_lock SELECT * FROM holdfast.backup");
  };
  for (int i = 0; i < 3; ++i) last = std::max({last, exclusive(), shared()});
  restore();
  EXPECT_GT(exclusive(), last);
  EXPECT_GT(shared(), last);
  // The same for one who is handed the lock.
  Lease lease = client.mutex("x", kLong).acquire().value();
  Pending next = in_thread([&] { return waiting.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return client.inspect("x")->waiters.size() == 1; }));
  last = std::max(last, lease.token());
  own.query("UPDATE holdfast.holdfast_lock SET token = 2 WHERE name = 'x'");
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(next));
  const Result<Lease> won = next.get();
  ASSERT_EQ(told(won), "granted");
  EXPECT_GT(won->token(), last);
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
