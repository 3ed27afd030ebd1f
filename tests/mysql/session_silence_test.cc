// Clients that fall silent without the end of their connection being heard: their holds and waits end within
// a stated time, and a waiter on such a connection gets in by itself. And servers whose defaults
// are hostile to locks.
#include "database_faults.h"
#include "mysql_testing.h"

namespace holdfast::mysql_tests {

HOLDFAST_SESSION_TESTS(MysqlSessionSilence);

namespace {
std::string url_through(const Proxy& proxy, const std::string& recipe) {
  return "mysql://root@127.0.0.1:" + std::to_string(proxy.port()) + "/holdfast?recipe=" + recipe;
}
}  // namespace

TEST_P(MysqlSessionSilence, ADeadWaiterKeepsTheLockForNoMoreThanItsTtl) {
  Proxy proxy(server().port());
  Client holder = open(url());
  Client dead = open(url_through(proxy, recipe()), {.request_timeout = 1s});
  Client other = open(url());
  expect_a_dead_waiter_delays_by_its_ttl(holder, dead, other, proxy,
                                         [&] { return waiting_sessions() == "1"; });
}

TEST_P(MysqlSessionSilence, AWaiterOnADeadConnectionGetsInByItself) {
  Proxy proxy(server().port());
  Client holder = open(url());
  Client waiter = open(url_through(proxy, recipe()), {.request_timeout = 1s});
  expect_a_waiter_on_a_dead_connection_gets_in(holder, waiter, proxy,
                                               [&] { return waiting_sessions() == "1"; });
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
    expect_hostile_settings_do_not_matter(
        url_on(own), [&] { return own.value("SELECT MAX(token) FROM holdfast.holdfast_tokens"); });
  }
}

}  // namespace holdfast::mysql_tests
