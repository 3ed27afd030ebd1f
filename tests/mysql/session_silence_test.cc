// Clients that fall silent without the end of their connection being heard: what they hold or wait for ends
// within a stated time, and who waits on such a connection gets in by itself. And servers whose defaults
// are hostile to locks.
#include "mysql_testing.h"

namespace holdfast::mysql_tests {

HOLDFAST_SESSION_TESTS(MysqlSessionSilence);

// The server grants it to the dead one first, and ends that session after its ttl.
TEST_P(MysqlSessionSilence, ADeadWaiterKeepsTheLockForNoMoreThanItsTtl) {
  Proxy proxy(server().port());
  Client holder = open(url());
  Client dead = open(url_through(proxy, recipe()), {.request_timeout = 1s});
  Client other = open(url());
  Lease lease = holder.mutex("dead waiter", kLong).acquire().value();
  std::stop_source stop;
  Pending waiting =
      in_thread([&] { return dead.mutex("dead waiter", {.ttl = 2s}).acquire(stop.get_token()); });
  ASSERT_TRUE(eventually([&] { return waiting_sessions() == "1"; }));
  proxy.cut();
  proxy.refuse(true);
  ASSERT_EQ(told(lease.release()), "granted");
  EXPECT_EQ(told(other.mutex("dead waiter", kLong).try_acquire_for(20s)), "granted")
      << "the dead one keeps it";
  stop.request_stop();
  ASSERT_TRUE(arrives(waiting));
  static_cast<void>(waiting.get());
}

// Its connection is dead, which nobody tells it. New ones work.
TEST_P(MysqlSessionSilence, AWaiterOnADeadConnectionGetsInByItself) {
  Proxy proxy(server().port());
  Client holder = open(url());
  Client waiter = open(url_through(proxy, recipe()), {.request_timeout = 1s});
  Lease lease = holder.mutex("dead link", kLong).acquire().value();
  Pending waiting =
      in_thread([&] { return waiter.mutex("dead link", {.ttl = 2s}).try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] { return waiting_sessions() == "1"; }));
  proxy.cut();
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

std::vector<std::string> hostile_defaults() {
  std::vector<std::string> all{"--autocommit=0",
                               "--innodb-rollback-on-timeout=1",
                               "--wait-timeout=1",
                               "--innodb-lock-wait-timeout=1",
                               "--completion-type=2",
                               "--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES",
                               "--character-set-server=latin1",
                               "--explicit-defaults-for-timestamp=0"};
  if (on_mysql()) {
    all.insert(all.end(),
               {"--max-execution-time=500", "--performance-schema=OFF",
                "--sql-require-primary-key=ON", "--sql-generate-invisible-primary-key=ON"});
  } else {
    all.insert(all.end(), {"--idle-transaction-timeout=1", "--max-statement-time=0.5",
                           "--skip-character-set-client-handshake"});
  }
  return all;
}

TEST_P(MysqlSessionSilence, DefaultsOfTheServerThatAreHostileToLocksDoNotMatter) {
  for (const std::string isolation : {"READ-UNCOMMITTED", "SERIALIZABLE"}) {
    std::vector<std::string> arguments = hostile_defaults();
    arguments.push_back("--transaction-isolation=" + isolation);
    MariadbServer own({.arguments = arguments});
    own.query(std::string("SET GLOBAL ") + (on_mysql() ? "transaction" : "tx") + "_read_only = 1");
    Client one = open(url_on(own));
    Client two = open(url_on(own));
    Result<Lease> first_lease = one.mutex("x", {.ttl = 4s}).try_acquire_for(10s);
    ASSERT_EQ(told(first_lease), "granted");
    Lease lease = std::move(first_lease).value();
    Pending waiting = in_thread([&] { return two.mutex("x", {.ttl = 4s}).try_acquire_for(30s); });
    ASSERT_TRUE(eventually([&] { return one.inspect("x").value().waiters.size() == 1; }));
    pause_for(2500ms);
    EXPECT_TRUE(lease.held()) << "a limit of the server's ended it";
    EXPECT_FALSE(contract::is_ready(waiting)) << "a limit of the server's ended the wait";
    const Token first = lease.token();
    ASSERT_EQ(told(lease.release()), "granted");
    ASSERT_TRUE(arrives(waiting));
    const Result<Lease> next = waiting.get();
    ASSERT_EQ(told(next), "granted");
    EXPECT_GT(next->token(), first);
    EXPECT_EQ(own.value("SELECT MAX(token) FROM holdfast.holdfast_tokens"), next->token().str())
        << "the token is not committed";
  }
}

}  // namespace holdfast::mysql_tests
