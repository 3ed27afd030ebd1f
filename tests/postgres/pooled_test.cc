// The recipe `table` behind a real PgBouncer that pools transactions: it works, and leaves nothing in the sessions of the
// server, which belong to everybody.
#include "pair_testing.h"
#include "pgbouncer_server.h"

namespace holdfast::postgres_tests {
namespace {

using test::PgbouncerServer;

std::string pooled_url(const PgbouncerServer& pooler, const std::string& options) {
  return pooler.url() + "?pooled=yes" + options;
}

// With one session in the server, every other user of the proxy gets the one that we had.
void expect_untouched_session(const PgbouncerServer& pooler) {
  test::PostgresClient other("127.0.0.1", pooler.port());
  EXPECT_EQ(other.value("SELECT count(*) FROM pg_settings WHERE source = 'session'"
                        " AND name NOT IN ('application_name', 'client_encoding', 'DateStyle',"
                        " 'TimeZone', 'standard_conforming_strings')"),
            "0");
  EXPECT_EQ(other.value("SELECT count(*) FROM pg_prepared_statements"), "0");
  EXPECT_EQ(other.value("SELECT count(*) FROM pg_listening_channels()"), "0");
  EXPECT_EQ(other.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
}

TEST(PostgresPooled, NothingIsLeftInTheSessionsOfTheServer) {
  PostgresServer server;
  PgbouncerServer pooler(server.port(), {.pool_size = 1});
  Client client = open(pooled_url(pooler, "&schema=locks"));
  Client other = open(pooled_url(pooler, "&schema=locks"));
  {
    Lease lease = client.mutex("x", kLong).acquire().value();
    Pending waiting = in_thread([&] { return other.mutex("x", kLong).try_acquire_for(10s); });
    ASSERT_TRUE(eventually([&] { return waiters(client, "x") == 1; }));
    expect_untouched_session(pooler);
    ASSERT_EQ(told(lease.renew()), "granted");
    ASSERT_EQ(told(lease.release()), "granted");
    ASSERT_TRUE(arrives(waiting));
    EXPECT_EQ(told(waiting.get()), "granted");
  }
  const Lease shared = client.shared_mutex("y", kLong).acquire_shared().value();
  expect_untouched_session(pooler);
  EXPECT_EQ(server.query("SELECT count(*) FROM locks.holdfast_lock"), "2");
}

TEST(PostgresPooled, WithoutTheOptionAPoolerIsRefusedAndNothingIsLeft) {
  PostgresServer server;
  PgbouncerServer pooler(server.port(), {.pool_size = 1});
  for (const char* recipe : {"table", "advisory", "row"}) {
    Client client = open(pooler.url() + "?schema=locks&recipe=" + recipe);
    const Result<Lease> refused = client.mutex("x", kLong).try_acquire();
    EXPECT_THAT(told(refused), testing::StartsWith("misconfigured"));
    EXPECT_THAT(refused.message(), HasSubstr("pooled=yes"));
    expect_untouched_session(pooler);
  }
}

TEST(PostgresPooled, RecipesThatNeedASessionAreRefused) {
  for (const char* recipe : {"advisory", "row"}) {
    const Result<Client> client = Client::open(
        "postgres://postgres@127.0.0.1/postgres?pooled=yes&recipe=" + std::string(recipe));
    EXPECT_EQ(client.code(), Code::invalid_argument);
    EXPECT_THAT(client.message(), HasSubstr("needs a session of its own"));
  }
}

TEST(PostgresPooled, TheGuaranteesSayThatWaitersPoll) {
  Client client = open("postgres://postgres@127.0.0.1:1/postgres?pooled=yes");
  EXPECT_EQ(client.guarantees().wake_up, WakeUp::poll);
  EXPECT_EQ(client.guarantees().exclusion, Exclusion::bounded_by_clocks);
}

TEST(PostgresPooled, TheDefaultsOfTheDatabaseDoNotMatter) {
  PostgresServer server;
  for (const char* setting :
       {"bytea_output = 'escape'", "default_transaction_isolation = 'serializable'",
        "statement_timeout = '1ms'", "lock_timeout = '1ms'", "synchronous_commit = off",
        "search_path = nowhere"}) {
    server.query(std::string("ALTER DATABASE postgres SET ") + setting);
  }
  server.query("CREATE SCHEMA nowhere");
  PgbouncerServer pooler(server.port());
  Client client = open(pooled_url(pooler, ""));
  Client other = open(pooled_url(pooler, ""));
  Lease lease = client.mutex(Name(std::string("\0x", 2)), kLong).acquire().value();
  Pending waiting = in_thread(
      [&] { return other.mutex(Name(std::string("\0x", 2)), kLong).try_acquire_for(10s); });
  ASSERT_TRUE(eventually([&] { return waiters(client, Name(std::string("\0x", 2))) == 1; }));
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

TEST(PostgresPooled, ClientsBehindThePoolerAndBesideItTakeTurns) {
  PostgresServer server;
  PgbouncerServer pooler(server.port());
  Client direct = open(server.url());
  Client pooled = open(pooled_url(pooler, ""));
  std::optional<Lease> holder = direct.mutex("x", kLong).acquire().value();
  std::vector<Pending> line;
  for (int i = 0; i < 6; ++i) {
    Client& next = i % 2 == 0 ? pooled : direct;
    line.push_back(in_thread([&next] { return next.mutex("x", kLong).try_acquire_for(30s); }));
    ASSERT_TRUE(
        eventually([&] { return waiters(direct, "x") == static_cast<std::size_t>(i + 1); }));
  }
  for (Pending& next : line) {
    holder.reset();
    ASSERT_TRUE(arrives(next)) << "it was passed over";
    Result<Lease> lease = next.get();
    ASSERT_EQ(told(lease), "granted");
    holder = std::move(lease).value();
  }
}

// A waiter that is cut off must not keep the others out, nor must a client that is silent inside a transaction.
TEST(PostgresPooled, AWaiterThatIsCutOffDelaysTheOthersForSecondsOnly) {
  PostgresServer server;
  PgbouncerServer pooler(server.port());
  Proxy proxy(pooler.port());
  Client client = open(pooled_url(pooler, ""));
  Client cut = open(url_of(proxy, "?pooled=yes"), {.request_timeout = 60s});
  Lease lease = client.mutex("x", kLong).acquire().value();
  Pending frozen = in_thread([&] { return cut.mutex("x", kLong).try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] { return waiters(client, "x") == 1; }));
  proxy.cut();
  Pending next = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(client, "x") == 2; }));
  const BootTime begun = BootClock::now();
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(next));
  EXPECT_EQ(told(next.get()), "granted");
  EXPECT_LT(BootClock::now() - begun, 8s);
  proxy.reset();
  static_cast<void>(arrives(frozen));
}

TEST(PostgresPooled, ASilentClientInsideATurnKeepsItsRowForSecondsOnly) {
  PostgresServer server;
  PgbouncerServer pooler(server.port());
  Proxy proxy(pooler.port());
  Client client = open(pooled_url(pooler, ""));
  Client silent = open(url_of(proxy, "?pooled=yes"), {.request_timeout = 60s});
  ASSERT_EQ(told(silent.mutex("x", kLong).try_acquire()), "granted");
  proxy.set(Direction::to_client, ProxyMode::drop);
  Pending frozen = in_thread([&] { return silent.shared_mutex("x", kLong).try_acquire_shared(); });
  ASSERT_TRUE(eventually([&] {
    return server.query(
               "SELECT count(*) FROM pg_stat_activity"
               " WHERE state = 'idle in transaction'") == "1";
  }));
  const BootTime begun = BootClock::now();
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(20s)), "granted");
  EXPECT_LT(BootClock::now() - begun, 8s);
  proxy.set(Direction::to_client, ProxyMode::pass);
  proxy.reset();
  ASSERT_TRUE(arrives(frozen));
}

TEST(PostgresPooled, APairBehindPoolersIsFollowed) {
  Pair pair;
  PgbouncerServer poolers[2] = {PgbouncerServer(pair.primary.port()),
                                PgbouncerServer(pair.standby.port())};
  Client client = open(url_of({poolers[0].port(), poolers[1].port()}, "?pooled=yes"));
  Lease lease = client.mutex("x", {.ttl = 8s}).acquire().value();
  pair.switch_over();
  pause_for(9s);
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(told(lease.release()), "granted");
}

}  // namespace
}  // namespace holdfast::postgres_tests
