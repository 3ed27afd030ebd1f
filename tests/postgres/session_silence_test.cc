// Clients that fall silent without the end of their connection being heard: their holds and waits end within
// a stated time, and a waiter on such a connection gets in by itself. And databases whose settings
// are hostile to locks.
#include "database_faults.h"
#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

class PostgresSessionSilence : public testing::TestWithParam<std::string> {
 protected:
  std::string url() const { return shared_server().url() + "?recipe=" + GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(All, PostgresSessionSilence, testing::Values("advisory", "row"),
                         [](const auto& recipe) { return recipe.param; });

TEST_P(PostgresSessionSilence, ADeadWaiterKeepsTheLockForNoMoreThanItsTtl) {
  Proxy proxy(shared_server().port());
  Client holder = open(url());
  Client dead = open(url_of(proxy, "?recipe=" + GetParam()), {.request_timeout = 1s});
  Client other = open(url());
  expect_a_dead_waiter_delays_by_its_ttl(holder, dead, other, proxy,
                                         [&] { return waiters(holder, "dead waiter") == 1; });
}

TEST_P(PostgresSessionSilence, AWaiterOnADeadConnectionGetsInByItself) {
  Proxy proxy(shared_server().port());
  Client holder = open(url());
  Client waiter = open(url_of(proxy, "?recipe=" + GetParam()), {.request_timeout = 1s});
  expect_a_waiter_on_a_dead_connection_gets_in(holder, waiter, proxy,
                                               [&] { return waiters(holder, "dead link") == 1; });
}

TEST_P(PostgresSessionSilence, SettingsOfTheDatabaseThatAreHostileToLocksDoNotMatter) {
  for (const std::string isolation : {"serializable", "read uncommitted"}) {
    PostgresServer server;
    server.query(
        "ALTER DATABASE postgres SET statement_timeout = '1s';"
        "ALTER DATABASE postgres SET lock_timeout = '500ms';"
        "ALTER DATABASE postgres SET idle_session_timeout = '2s';"
        "ALTER DATABASE postgres SET idle_in_transaction_session_timeout = '500ms';"
        "ALTER DATABASE postgres SET bytea_output = 'escape';"
        "ALTER DATABASE postgres SET default_transaction_deferrable = on;"
        "ALTER DATABASE postgres SET default_transaction_isolation = '" +
        isolation + "'");
    expect_hostile_settings_do_not_matter(server.url() + "?recipe=" + GetParam(), [&] {
      return server.query("SELECT max(token) FROM holdfast_token");
    });
  }
}

}  // namespace
}  // namespace holdfast::postgres_tests
