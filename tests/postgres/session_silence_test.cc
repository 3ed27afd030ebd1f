// Clients that fall silent without the end of their connection being heard: what they hold or wait for ends
// within a stated time, and who waits on such a connection gets in by itself. And databases whose settings
// are hostile to locks.
#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

class PostgresSessionSilence : public testing::TestWithParam<std::string> {
 protected:
  std::string url() const { return shared_server().url() + "?recipe=" + GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(All, PostgresSessionSilence, testing::Values("advisory", "row"),
                         [](const auto& recipe) { return recipe.param; });

// The server grants it to the dead one first, and ends that session after its ttl.
TEST_P(PostgresSessionSilence, ADeadWaiterKeepsTheLockForNoMoreThanItsTtl) {
  Proxy proxy(shared_server().port());
  Client holder = open(url());
  Client dead = open(url_of(proxy, "?recipe=" + GetParam()), {.request_timeout = 1s});
  Client other = open(url());
  Lease lease = holder.mutex("dead waiter", kLong).acquire().value();
  std::stop_source stop;
  Pending waiting =
      in_thread([&] { return dead.mutex("dead waiter", {.ttl = 2s}).acquire(stop.get_token()); });
  ASSERT_TRUE(eventually([&] { return waiters(holder, "dead waiter") == 1; }));
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
TEST_P(PostgresSessionSilence, AWaiterOnADeadConnectionGetsInByItself) {
  Proxy proxy(shared_server().port());
  Client holder = open(url());
  Client waiter = open(url_of(proxy, "?recipe=" + GetParam()), {.request_timeout = 1s});
  Lease lease = holder.mutex("dead link", kLong).acquire().value();
  Pending waiting =
      in_thread([&] { return waiter.mutex("dead link", {.ttl = 2s}).try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] { return waiters(holder, "dead link") == 1; }));
  proxy.cut();
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
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
    const std::string url = server.url() + "?recipe=" + GetParam();
    Client one = open(url);
    Client two = open(url);
    Result<Lease> first_lease = one.mutex("x", {.ttl = 4s}).try_acquire_for(10s);
    ASSERT_EQ(told(first_lease), "granted");
    Lease lease = std::move(first_lease).value();
    Pending waiting = in_thread([&] { return two.mutex("x", {.ttl = 4s}).try_acquire_for(30s); });
    ASSERT_TRUE(eventually([&] { return waiters(one, "x") == 1; }));
    pause_for(2500ms);
    EXPECT_TRUE(lease.held()) << "a limit of the database's ended it";
    EXPECT_FALSE(contract::is_ready(waiting)) << "a limit of the database's ended the wait";
    const Token first = lease.token();
    ASSERT_EQ(told(lease.release()), "granted");
    ASSERT_TRUE(arrives(waiting));
    const Result<Lease> next = waiting.get();
    ASSERT_EQ(told(next), "granted");
    EXPECT_GT(next->token(), first);
    EXPECT_EQ(server.query("SELECT max(token) FROM holdfast_token"), next->token().str())
        << "the token is not committed";
  }
}

}  // namespace
}  // namespace holdfast::postgres_tests
