// Errors that pass: deadlocks, clocks that jump, names that must be looked up.
#include "mysql_testing.h"

namespace holdfast::mysql_tests {

// Fails the first two changes of a table, as if each were the victim of a deadlock.
void make_deadlocks(const MariadbServer& server, const std::string& event) {
  MariadbClient setup(server.port(), "holdfast");
  setup.query("CREATE SEQUENCE faults NOCACHE");
  setup.query("CREATE TRIGGER fails BEFORE " + event +
              " FOR EACH ROW IF NEXTVAL(faults) <= 2 THEN"
              " SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'made up'; END IF");
}
int failures_met(const MariadbServer& server) {
  return std::stoi(server.value("SELECT NEXTVAL(holdfast.faults)")) - 1;
}

HOLDFAST_SESSION_TESTS(MysqlSessionFaults);

TEST_P(MysqlSessionFaults, ADeadlockIsTriedAgain) {
  MariadbServer own;
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
  Lease lease = one.mutex("x", {.ttl = 2s}).acquire().value();
  for (const auto by : {std::chrono::hours(2), std::chrono::hours(-4)}) {
    own.clock().jump(by);
    EXPECT_EQ(outcome_of(two.mutex("x", kLong).try_acquire()), "busy");
    EXPECT_EQ(told(lease.renew()), "granted");
  }
  pause_for(1s);
  EXPECT_TRUE(lease.held());
  const Token before = lease.token();
  ASSERT_EQ(told(lease.release()), "granted");
  const Result<Lease> next = two.mutex("x", kLong).try_acquire_for(10s);
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), before);
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

TEST(MysqlFaults, ADeadlockInTheTableIsTriedAgain) {
  MariadbServer own;
  Client holder = open(own.url());
  Client waiting = open(own.url());
  Lease lease = holder.mutex("x", kLong).acquire().value();
  make_deadlocks(own, "INSERT ON holdfast_waiter");
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
