// Errors that pass: deadlocks, clocks that jump, names that must be looked up.
#include "database_faults.h"
#include "mysql_testing.h"

namespace holdfast::mysql_tests {

// Of a server that allows make_deadlocks().
std::vector<std::string> allow_deadlocks() {
  if (!on_mysql()) return {};
  return {"--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"};
}
// Fails the first two changes of a table, as if each were the victim of a deadlock. What counts them knows
// no transactions, and so survives the failure.
void make_deadlocks(const MariadbServer& server, const std::string& event) {
  MariadbClient setup(server.port(), "holdfast");
  setup.query("CREATE TABLE faults (n INT NOT NULL) ENGINE=MyISAM");
  setup.query("INSERT INTO faults VALUES (0)");
  setup.query("CREATE TRIGGER fails BEFORE " + event +
              " FOR EACH ROW BEGIN UPDATE faults SET n = n + 1;"
              " IF (SELECT n FROM faults) <= 2 THEN"
              " SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'made up';"
              " END IF; END");
}
int failures_met(const MariadbServer& server) {
  return std::stoi(server.value("SELECT n FROM holdfast.faults"));
}

HOLDFAST_SESSION_TESTS(MysqlSessionFaults);

TEST_P(MysqlSessionFaults, ADeadlockIsTriedAgain) {
  MariadbServer own({.arguments = allow_deadlocks()});
  Client client = open(url_on(own));
  const Token first = client.mutex("x", kLong).acquire()->token();
  make_deadlocks(own, "UPDATE ON holdfast_tokens");
  const Result<Lease> lease = client.mutex("x", kLong).try_acquire_for(20s);
  ASSERT_EQ(told(lease), "granted");
  EXPECT_GT(lease->token(), first);
  EXPECT_GT(failures_met(own), 2) << "nothing failed";
}

TEST_P(MysqlSessionFaults, AJumpOfTheServersClockTakesNoLockAway) {
  MariadbServer own({.movable_clock = true});
  Client one = open(url_on(own));
  Client two = open(url_on(own));
  expect_a_clock_jump_takes_no_lock_away(one, two, own.clock());
}

// GET_LOCK returns NULL, or an error, when its statement is killed.
TEST_P(MysqlSessionFaults, AWaitThatAnAdministratorInterruptsGoesOn) {
  Client holder = open(url());
  Client waiting = open(url());
  Lease lease = holder.mutex("interrupted", kLong).acquire().value();
  Pending pending =
      in_thread([&] { return waiting.mutex("interrupted", kLong).try_acquire_for(30s); });
  for (int round = 0; round < 3; ++round) {
    std::string session;
    ASSERT_TRUE(eventually([&] {
      session = server().value(
          "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '/* holdfast%'");
      return !session.empty();
    }));
    server().query("KILL QUERY " + session);
    pause_for(50ms);
  }
  EXPECT_FALSE(contract::is_ready(pending));
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(pending));
  EXPECT_EQ(told(pending.get()), "granted");
}

// The lock is ours, and the row of its token somebody else's for longer than the server waits: neither
// may the lock stay in a session that nobody thinks of.
TEST_P(MysqlSessionFaults, ATokenThatCannotBeDrawnStrandsNoLock) {
  MariadbServer own({.arguments = {"--innodb-lock-wait-timeout=1"}});
  Client client = open(url_on(own));
  Client other = open(url_on(own));
  ASSERT_EQ(told(client.mutex("x", kLong).acquire()), "granted");
  MariadbClient blocker(own.port(), "holdfast");
  blocker.query("BEGIN");
  blocker.query("SELECT token FROM holdfast_tokens FOR UPDATE");
  Pending pending = in_thread([&] { return client.mutex("x", kLong).try_acquire(); });
  pause_for(1500ms);  // The server has given up by now.
  blocker.query("COMMIT");
  ASSERT_TRUE(arrives(pending));
  {
    const Result<Lease> lease = pending.get();
    if (lease) {
      EXPECT_EQ(outcome_of(other.mutex("x", kLong).try_acquire()), "busy");
    }
  }
  ASSERT_EQ(told(client.mutex("y", kLong).acquire()), "granted");
  expect_free_soon(other, "x");
}

TEST_P(MysqlSessionFaults, ATimeLimitForStatementsEndsNoWait) {
  MariadbServer own(
      {.arguments = {on_mysql() ? "--max-execution-time=1000" : "--max-statement-time=1"}});
  Client holder = open(url_on(own));
  Client waiting = open(url_on(own));
  Lease lease = holder.mutex("x", kLong).acquire().value();
  Pending pending = in_thread([&] { return waiting.mutex("x", kLong).try_acquire_for(20s); });
  pause_for(1500ms);
  EXPECT_FALSE(contract::is_ready(pending));
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(pending));
  EXPECT_EQ(told(pending.get()), "granted");
}

// Another one draws between the lock and its token. That one may have the lock by now: a session that
// ends lets its rows go before its named locks.
TEST(MysqlRow, ATokenIsNotDrawnAfterAnothers) {
  MariadbServer own;
  Client client = open(own.url("recipe=row"));
  const Token first = client.mutex("x", kLong).acquire()->token();
  MariadbClient blocker(own.port(), "holdfast");
  blocker.query("BEGIN");
  blocker.query("UPDATE holdfast_tokens SET token = token + 1");
  const auto begun = [&] {
    return std::stoi(own.query("SHOW GLOBAL STATUS LIKE 'Com_begin'").at(0).at(1));
  };
  const int before = begun();
  // A server shows a statement for a moment longer than it answers: the blocker's own is none that waits.
  const std::string blocked =
      "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'UPDATE "
      "holdfast_tokens%'"
      " AND ID <> " +
      blocker.query("SELECT CONNECTION_ID()").at(0).at(0);
  Pending pending = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return own.value(blocked) == "1"; }));
  blocker.query("COMMIT");
  ASSERT_TRUE(arrives(pending));
  const Result<Lease> lease = pending.get();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_GT(lease->token().value(), first.value() + 1);
  EXPECT_EQ(begun(), before + 2) << "it did not start over";
}

// A server that ends a transaction for a lock that it did not get ends the BEGIN as well.
TEST(MysqlRow, WhoWaitedHoldsAlsoWhereATimeoutEndsTheTransaction) {
  MariadbServer own({.arguments = {"--innodb-rollback-on-timeout=ON"}});
  Client holder = open(own.url("recipe=row"));
  Client waiting = open(own.url("recipe=row"));
  Client third = open(own.url("recipe=row"));
  Lease lease = holder.mutex("x", kLong).acquire().value();
  Pending pending = in_thread([&] { return waiting.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return holder.inspect("x")->waiters.size() == 1; }));
  pause_for(100ms);
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(pending));
  Result<Lease> waited = pending.get();
  ASSERT_EQ(told(waited), "granted");
  EXPECT_EQ(outcome_of(third.mutex("x", kLong).try_acquire()), "busy");
  EXPECT_EQ(told(waited->renew()), "granted");
}

TEST(MysqlFaults, ADeadlockInTheTableIsTriedAgain) {
  MariadbServer own({.arguments = allow_deadlocks()});
  Client holder = open(own.url());
  Client waiting = open(own.url());
  Lease lease = holder.mutex("x", kLong).acquire().value();
  make_deadlocks(own, "UPDATE ON holdfast_lock");
  Pending pending = in_thread([&] { return waiting.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return holder.inspect("x")->waiters.size() == 1; }));
  EXPECT_GT(failures_met(own), 2) << "nothing failed";
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(pending));
  EXPECT_EQ(told(pending.get()), "granted");
}

TEST(MysqlFaults, ANameIsLookedUp) {
  MariadbServer own;
  const std::string rest = ":" + std::to_string(own.port()) + "/holdfast";
  EXPECT_EQ(try_at("mysql://root@localhost" + rest), "granted");
  EXPECT_THAT(try_at("mysql://root@nowhere.invalid" + rest), StartsWith("unreachable"));
}

}  // namespace holdfast::mysql_tests
