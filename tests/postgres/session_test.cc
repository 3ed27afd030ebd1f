// The recipes whose locks live in a session: what ends it, what must not, and proxies that share it.
#include "base/real_runtime.h"
#include "database_faults.h"
#include "engines/postgres/session_recipe.h"
#include "holdfast/sql.h"
#include "pooling_proxy.h"
#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

class PostgresSession : public testing::TestWithParam<std::string> {
 protected:
  std::string url(const std::string& options = "") const {
    return url_on(shared_server(), options);
  }
  std::string url_on(const PostgresServer& server, const std::string& options = "") const {
    return server.url() + "?recipe=" + GetParam() + (options.empty() ? "" : "&" + options);
  }
};

INSTANTIATE_TEST_SUITE_P(All, PostgresSession, testing::Values("advisory", "row"),
                         [](const auto& recipe) { return recipe.param; });

// ---- Time limits -------------------------------------------------------------------------------

TEST_P(PostgresSession, TheDatabasesOwnTimeLimitsEndNoWait) {
  PostgresServer server({.arguments = {"-c", "lock_timeout=50ms", "-c", "statement_timeout=100ms",
                                       "-c", "idle_session_timeout=100ms"}});
  Client one = open(url_on(server));
  Client two = open(url_on(server));
  Lease lease = one.mutex("x", kLong).acquire().value();
  Pending waiting = in_thread([&] { return two.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(one, "x") == 1; }));
  pause_for(400ms);
  EXPECT_FALSE(contract::is_ready(waiting)) << "a limit that is not ours ended the wait";
  EXPECT_TRUE(lease.held());
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

// The end of the wait and the grant cross each other: who gave up must not have the lock.
TEST_P(PostgresSession, ATimeLimitThatArrivesWithTheLockHeldLeavesNothing) {
  Client holder = open(url());
  Client impatient = open(url());
  for (int round = 0; round < 25; ++round) {
    Lease lease = holder.mutex("crossed", kLong).acquire().value();
    Pending waiting =
        in_thread([&] { return impatient.mutex("crossed", kLong).try_acquire_for(20ms); });
    pause_for(std::chrono::microseconds(18'000 + 200 * round));
    ASSERT_EQ(told(lease.release()), "granted");
    ASSERT_TRUE(arrives(waiting));
    {
      const Result<Lease> late = waiting.get();
      if (!late) {
        ASSERT_EQ(outcome_of(late), "busy");
      }
    }
    ASSERT_EQ(told(holder.mutex("crossed", kLong).try_acquire_for(10s)), "granted")
        << "stranded in round " << round;
  }
}

// The server ends a session that says nothing for a ttl: of the lock that it has now, not of one that
// it had before.
TEST_P(PostgresSession, ASessionThatServedAShorterTtlLastsForALongerOne) {
  Client one = open(url());
  Client two = open(url());
  const LockOptions brief{.ttl = 1100ms, .auto_renew = false};
  const LockOptions longer{.ttl = 1900ms, .auto_renew = false};
  ASSERT_EQ(told(one.mutex("brief", brief).acquire()->release()), "granted");
  const Result<Lease> lease = one.mutex("longer", longer).acquire();
  ASSERT_EQ(told(lease), "granted");
  pause_for(1400ms);
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(outcome_of(two.mutex("longer", kLong).try_acquire()), "busy");
}

// A setting made in a transaction that is rolled back was not made.
TEST_P(PostgresSession, ASessionThatGaveUpAWaitLastsForItsNextTtl) {
  Client one = open(url());
  Client two = open(url());
  const LockOptions brief{.ttl = 1100ms, .auto_renew = false};
  const LockOptions longer{.ttl = 1900ms, .auto_renew = false};
  ASSERT_EQ(told(one.mutex("brief", brief).acquire()->release()), "granted");
  {
    const Lease other = two.mutex("given up", kLong).acquire().value();
    ASSERT_EQ(outcome_of(one.mutex("given up", longer).try_acquire_for(100ms)), "busy");
  }
  const Result<Lease> lease = one.mutex("given up", longer).acquire();
  ASSERT_EQ(told(lease), "granted");
  pause_for(1400ms);
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(outcome_of(two.mutex("given up", kLong).try_acquire()), "busy");
}

TEST_P(PostgresSession, AJumpOfTheServersClockTakesNoLockAway) {
  PostgresServer server({.movable_clock = true});
  Client one = open(url_on(server));
  Client two = open(url_on(server));
  expect_a_clock_jump_takes_no_lock_away(one, two, server.clock());
}

// ---- Faults ------------------------------------------------------------------------------------

TEST_P(PostgresSession, ADeadlockIsTriedAgain) {
  PostgresServer server;
  Client client = open(url_on(server));
  const Token first = client.mutex("x", kLong).acquire()->token();
  server.query(
      "CREATE SEQUENCE faults; CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$"
      " BEGIN IF nextval('faults') <= 2 THEN RAISE 'made up' USING ERRCODE = '40P01'; END IF;"
      " RETURN NEW; END $$;"
      "CREATE TRIGGER fails BEFORE UPDATE ON holdfast_token FOR EACH ROW EXECUTE FUNCTION fail()");
  const Result<Lease> lease = client.mutex("x", kLong).try_acquire_for(20s);
  ASSERT_EQ(told(lease), "granted");
  EXPECT_GT(lease->token(), first);
  EXPECT_GT(std::stoi(server.query("SELECT last_value FROM faults")), 2) << "nothing failed";
}

// Between the lock and its token the session is ended, and another holder draws. What is drawn after
// that must not be used: it would be higher than that of the one who has the lock.
TEST(PostgresRow, ATokenIsNotDrawnAfterTheLockWasLost) {
  PostgresServer server;
  Client client = open(server.url() + "?recipe=row");
  const Token first = client.mutex("x", kLong).acquire()->token();
  test::PostgresClient other("127.0.0.1", server.port());
  other.value("BEGIN; UPDATE holdfast_token SET token = token + 1");
  Pending drawing = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return blocked(server, "UPDATE holdfast_token%") == "1"; }));
  server.query(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks"
      " WHERE locktype = 'relation' AND relation = 'holdfast_row'::regclass");
  other.value("COMMIT");
  ASSERT_TRUE(arrives(drawing));
  Result<Lease> lease = drawing.get();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(told(lease->renew()), "granted") << "it is that of the session that was ended";
  EXPECT_GT(lease->token().value(), first.value() + 1);
}

TEST_P(PostgresSession, AForkedHelperDoesNotKeepTheLockOfItsDeadParent) {
  expect_a_forked_helper_keeps_no_lock(url());
}

// ---- Without tokens ----------------------------------------------------------------------------

TEST_P(PostgresSession, WithoutTokensItLocksAllTheSame) {
  PostgresServer server;
  Client one = open(url_on(server, "tokens=no"));
  Client two = open(url_on(server, "tokens=no"));
  Result<Lease> lease = one.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(one.guarantees().token, TokenStrength::none);
  EXPECT_EQ(outcome_of(two.mutex("x", kLong).try_acquire()), "busy");
  Pending waiting = in_thread([&] { return two.mutex("x", kLong).try_acquire_for(20s); });
  pause_for(200ms);
  EXPECT_EQ(told(lease->renew()), "granted");
  ASSERT_EQ(told(lease->release()), "granted");
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
  EXPECT_EQ(server.query("SELECT to_regclass('holdfast_token') IS NULL"), "t")
      << "no table is needed";
}

TEST(PostgresAdvisory, WithoutTokensTheServerStillShowsWhoHolds) {
  Client one = open(shared_server().url() + "?recipe=advisory&tokens=no&application_name=mine");
  const Lease lease = one.mutex("shown", kLong).acquire().value();
  const LockInfo info = one.inspect("shown").value();
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_THAT(info.holders[0].label, HasSubstr("mine"));
  EXPECT_TRUE(one.inspect("other").value().holders.empty());
}

// ---- Proxies -----------------------------------------------------------------------------------

TEST_P(PostgresSession, AProxyThatPoolsTransactionsIsRefused) {
  const PoolingProxy proxy(shared_server().port());
  Client client = open("postgres://postgres@127.0.0.1:" + std::to_string(proxy.port()) +
                       "/postgres?recipe=" + GetParam());
  const std::string told_so = told(client.mutex("pooled", kLong).try_acquire());
  EXPECT_THAT(told_so, HasSubstr("misconfigured"));
  EXPECT_THAT(told_so, HasSubstr("pools transactions"));
  Client direct = open(url());
  EXPECT_EQ(told(direct.mutex("pooled", kLong).try_acquire()), "granted") << "something was left";
}

TEST(PostgresTableConnections, AProxyThatPoolsTransactionsIsNamed) {
  const PoolingProxy proxy(shared_server().port());
  Client client = open("postgres://postgres@127.0.0.1:" + std::to_string(proxy.port()) +
                       "/postgres?prefix=pooled:&connections=1");
  std::vector<Result<Lease>> leases;  // A release would be a transaction, too.
  std::string told_so;
  for (int i = 0; i < 4 && told_so.find("misconfigured") == std::string::npos; ++i) {
    leases.push_back(client.mutex("x" + std::to_string(i), kLong).try_acquire());
    told_so = told(leases.back());
  }
  EXPECT_THAT(told_so, HasSubstr("misconfigured"));
  EXPECT_THAT(told_so, HasSubstr("pools transactions"));
}

// Opens sessions without an engine.
internal::postgres::Settings settings_on(const PostgresServer& server, const std::string& recipe) {
  internal::postgres::Settings settings;
  settings.recipe = recipe;
  settings.connect_timeout = 20s;
  settings.login.endpoint = {.host = "127.0.0.1",
                             .port = static_cast<std::uint16_t>(server.port())};
  settings.login.user = settings.login.database = "postgres";
  return settings;
}

// A proxy may give each of the server's sessions the application_name of the client that it serves.
TEST(PostgresSessions, ASessionIsNotConfirmedByAnotherOfItsName) {
  internal::RealRuntime runtime;
  const auto recipe =
      internal::postgres::make_advisory_recipe(runtime, settings_on(shared_server(), "advisory"));
  const auto body = [&]() -> Task<void> {
    const Deadline deadline = Deadline::at(runtime.now() + 20s);
    Result<internal::session::Opened> own = co_await recipe->connect(deadline);
    Result<internal::session::Opened> other = co_await recipe->connect(deadline);
    const internal::session::Key key = recipe->key_of(Name("x"));
    const Claim claim{.name = Name("x")};
    const auto confirmed_by = [&](internal::session::Opened& asked) -> Task<std::string> {
      internal::session::Batch batch = recipe->confirm(key, claim, own.value());
      const internal::SqlOutcome outcome =
          co_await asked.connection->run(std::move(batch), deadline);
      co_return outcome.results.at(0).bytes(0, 0);
    };
    internal::session::Batch rename(1);
    rename[0] = {"SELECT set_config('application_name', $1::text, false)", {own.value().peer}};
    const internal::SqlOutcome renamed =
        co_await other.value().connection->run(std::move(rename), deadline);
    EXPECT_TRUE(renamed.ok());
    const std::string by_own = co_await confirmed_by(own.value());
    const std::string by_other = co_await confirmed_by(other.value());
    EXPECT_EQ(by_own, "1");
    EXPECT_EQ(by_other, "0");
  };
  runtime.block_on(body());
}

// Else a token could come again after a crash.
TEST(PostgresSessions, ACommitThatIsNotDurableIsMadeSo) {
  PostgresServer server;
  server.query("ALTER DATABASE postgres SET synchronous_commit = off");
  internal::RealRuntime runtime;
  const auto recipe =
      internal::postgres::make_advisory_recipe(runtime, settings_on(server, "advisory"));
  const auto body = [&]() -> Task<void> {
    const Deadline deadline = Deadline::at(runtime.now() + 20s);
    Result<internal::session::Opened> opened = co_await recipe->connect(deadline);
    internal::session::Batch batch(1);
    batch[0].text = "SHOW synchronous_commit";
    const internal::SqlOutcome outcome =
        co_await opened.value().connection->run(std::move(batch), deadline);
    EXPECT_EQ(outcome.results.at(0).bytes(0, 0), "local");
  };
  runtime.block_on(body());
}

// ---- What is left behind -----------------------------------------------------------------------

TEST(PostgresSessions, RowsOfDeadSessionsAreRemovedAndOthersAreNot) {
  PostgresServer server;
  Client living = open(server.url() + "?recipe=advisory");
  const Lease lease = living.shared_mutex("lives", kLong).acquire_shared().value();
  server.query(
      "INSERT INTO holdfast_shared(claim, lock_key, session, token, label, since, ttl_us)"
      " SELECT decode(lpad(to_hex(i), 32, '0'), 'hex'), 'k', 'holdfast dead', 1, '',"
      " now() - interval '2 hours', 1 FROM generate_series(1, 3) i");
  internal::RealRuntime runtime;
  const internal::postgres::Settings settings = settings_on(server, "advisory");
  const auto recipe = internal::postgres::make_advisory_recipe(runtime, settings);
  const auto body = [&]() -> Task<void> {
    const Deadline deadline = Deadline::at(runtime.now() + 20s);
    Result<internal::session::Opened> opened = co_await recipe->connect(deadline);
    internal::session::Batch batch = recipe->clean(1h);
    const internal::SqlOutcome outcome =
        co_await opened.value().connection->run(std::move(batch), deadline);
    EXPECT_TRUE(outcome.ok());
  };
  runtime.block_on(body());
  EXPECT_EQ(server.query("SELECT count(*) FROM holdfast_shared"), "1");
  EXPECT_EQ(living.inspect("lives")->holders.size(), 1U);
}

TEST(PostgresSchema, WhatIsPrintedIsWhatEachRecipeNeeds) {
  for (const std::string recipe : {"table", "advisory", "row"}) {
    PostgresServer server;
    const std::string url = server.url() + "?schema=locks&recipe=" + recipe;
    std::string all;
    for (const std::string& text : Client::schema(url).value()) all += text + ";";
    server.query(all);
    Client client = open(url + "&create_schema=no");
    EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted") << recipe;
  }
}

// Whichever recipe made the tables first.
TEST(PostgresSchema, ARecipeFindsOrMakesWhatAnotherLeftOut) {
  PostgresServer server;
  Client rows = open(server.url() + "?recipe=row&tokens=no");
  ASSERT_EQ(told(rows.mutex("x", kLong).try_acquire()), "granted");
  Client drawing = open(server.url() + "?recipe=row");
  const Result<Lease> row = drawing.mutex("y", kLong).try_acquire();
  ASSERT_EQ(told(row), "granted");
  EXPECT_EQ(drawing.inspect("y")->holders.size(), 1U);
  Client advisory = open(server.url() + "?recipe=advisory");
  const Result<Lease> lease = advisory.mutex("z", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(advisory.inspect("z")->holders.size(), 1U);
  EXPECT_EQ(told(advisory.evict("z", lease->token())), "granted");
}

TEST_P(PostgresSession, AMissingRightIsNamed) {
  PostgresServer server;
  {
    Client owner = open(url_on(server));
    ASSERT_EQ(told(owner.mutex("x", kLong).acquire()), "granted");
  }
  server.query("CREATE ROLE app LOGIN; GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA public TO app");
  Client client = open("postgres://app@127.0.0.1:" + std::to_string(server.port()) +
                       "/postgres?recipe=" + GetParam());
  const std::string told_so = told(client.mutex("new", kLong).try_acquire());
  EXPECT_THAT(told_so, HasSubstr("misconfigured"));
  EXPECT_THAT(told_so, HasSubstr("permission denied"));
}

TEST_P(PostgresSession, AReadOnlyServerSaysSo) {
  PostgresServer server;
  ASSERT_EQ(told(open(url_on(server)).mutex("x", kLong).try_acquire()), "granted");
  server.query("ALTER ROLE postgres SET default_transaction_read_only = on");
  const std::string told_so = told(open(url_on(server)).mutex("x", kLong).try_acquire());
  EXPECT_THAT(told_so, HasSubstr("misconfigured"));
  EXPECT_THAT(told_so, HasSubstr("read-only"));
}

// The statements for programs make the same tables as the recipe does.
TEST(PostgresSchema, TheTablesAreTheSameWhicheverWayTheyAreMade) {
  PostgresServer server;
  for (const std::string& statement : sql::tables(sql::Dialect::postgres)) server.query(statement);
  ASSERT_EQ(told(open(server.url() + "?recipe=advisory&schema=leases").mutex("x").try_acquire()),
            "granted");
  for (const char* table : {"holdfast_token", "holdfast_shared"}) {
    const auto described_in = [&](const std::string& schema) {
      return server.query(
                 "SELECT string_agg(column_name || ' ' || data_type || ' ' || is_nullable, ',' "
                 "ORDER BY column_name) "
                 "FROM information_schema.columns WHERE table_schema = '" +
                 schema + "' AND table_name = '" + table + "'") +
             server.query(
                 "SELECT string_agg(split_part(indexdef, ' USING ', 2), ',' ORDER BY indexdef) "
                 "FROM pg_indexes WHERE schemaname = '" +
                 schema + "' AND tablename = '" + table + "'");
    };
    EXPECT_EQ(described_in("public"), described_in("leases")) << table;
    EXPECT_THAT(described_in("public"), HasSubstr("lock_key")) << table;
  }
}

// A request that was given up is executed when nobody thinks of it any more.
TEST(PostgresTableConnections, ARequestThatIsExecutedAfterItWasGivenUpIsTakenBack) {
  PostgresServer& server = shared_server();
  const std::string url = server.url() + "?prefix=late:";
  Client watcher = open(url);
  ASSERT_EQ(told(watcher.mutex("other", kLong).try_acquire()), "granted");
  // A claim on the same name waits for this transaction; a release sees no row of it.
  test::PostgresClient blocker("127.0.0.1", server.port());
  blocker.value("BEGIN; INSERT INTO holdfast_lock(name, token) VALUES ('late:x', 7)");
  Client client = open(url, ClientOptions{.request_timeout = 500ms});
  const LockOptions hour{.ttl = 1h};
  EXPECT_EQ(outcome_of(client.mutex("x", hour).try_acquire()), "unknown");
  pause_for(300ms);  // It has been taken back by now, and was not there.
  blocker.value("COMMIT");
  EXPECT_TRUE(eventually([&] {
    return server.query("SELECT token > 7 FROM holdfast_lock WHERE name = 'late:x'") == "t";
  })) << "it was not executed late";
  EXPECT_EQ(told(watcher.mutex("x", kLong).try_acquire_for(20s)), "granted") << "stranded";
}

}  // namespace
}  // namespace holdfast::postgres_tests
