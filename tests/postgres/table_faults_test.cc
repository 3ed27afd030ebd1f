// The lock table under faults: of the server, the network, the clock, and of people.
#include "database_faults.h"
#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

// Ends every session of clients; the server lives on.
void kill_sessions(PostgresServer& server) {
  server.query(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
      " WHERE application_name = 'holdfast'");
}

// ---- People ------------------------------------------------------------------------------------

TEST(PostgresTableRights, AWrongPasswordIsRefusedAndNotShown) {
  PostgresServer server({.password = "sesame"});
  EXPECT_EQ(told(open(server.url()).mutex("x").try_acquire()), "granted");
  const std::string told_so = told(open(server.url("postgres", "s3cret")).mutex("x").try_acquire());
  EXPECT_THAT(told_so, HasSubstr("misconfigured"));
  EXPECT_THAT(told_so, HasSubstr("authentication failed"));
  EXPECT_THAT(told_so, testing::Not(HasSubstr("s3cret")));
}

TEST(PostgresTableRights, WhoMayNotCreateTablesLearnsHowTheyAreMade) {
  PostgresServer server;
  server.query("CREATE ROLE app LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
  Client client = open(server.url("app"));
  std::string told_so = told(client.mutex("x").try_acquire());
  EXPECT_THAT(told_so, HasSubstr("misconfigured"));
  EXPECT_THAT(told_so, HasSubstr("holdfast schema"));
  // Somebody who may makes them, and forgets the rights.
  ASSERT_EQ(told(open(server.url()).mutex("other").try_acquire()), "granted");
  told_so = told(client.mutex("x").try_acquire());
  EXPECT_THAT(told_so, HasSubstr("SELECT, INSERT, UPDATE and DELETE"));
  server.query(
      "GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast_lock, holdfast_holder,"
      " holdfast_waiter TO app");
  EXPECT_EQ(told(client.mutex("x").try_acquire()), "granted");
}

TEST(PostgresTableRights, WithoutLeaveToCreateThemTheTablesAreAskedFor) {
  PostgresServer server;
  const std::string told_so =
      told(open(server.url() + "?create_schema=no").mutex("x").try_acquire());
  EXPECT_THAT(told_so, HasSubstr("misconfigured"));
  EXPECT_THAT(told_so, HasSubstr("holdfast schema"));
  EXPECT_EQ(server.query("SELECT to_regclass('holdfast_lock') IS NULL"), "t");
}

TEST(PostgresTableRights, TablesThatAreDroppedAreMadeAgain) {
  PostgresServer server;
  Client client = open(server.url());
  Result<Lease> lease = client.mutex("x").try_acquire();
  ASSERT_EQ(told(lease), "granted");
  server.query("DROP TABLE holdfast_lock, holdfast_holder, holdfast_waiter");
  EXPECT_EQ(told(client.mutex("y").try_acquire()), "granted");
  EXPECT_EQ(outcome_of(lease->renew()), "not_held");
}

TEST(PostgresTableRights, AReadOnlyServerSaysSo) {
  PostgresServer server;
  ASSERT_EQ(told(open(server.url()).mutex("x").try_acquire()), "granted");
  server.query("ALTER ROLE postgres SET default_transaction_read_only = on");
  const std::string told_so = told(open(server.url()).mutex("x").try_acquire());
  EXPECT_THAT(told_so, HasSubstr("misconfigured"));
  EXPECT_THAT(told_so, HasSubstr("read-only"));
}

TEST(PostgresTableRights, ASchemaOfItsOwnKeepsLocksApart) {
  PostgresServer& server = shared_server();
  Client one = open(server.url() + "?schema=one");
  Client two = open(server.url() + "?schema=Two%22s");
  const Result<Lease> first = one.mutex("x").try_acquire();
  ASSERT_EQ(told(first), "granted");
  EXPECT_EQ(told(two.mutex("x").try_acquire()), "granted");
  EXPECT_EQ(outcome_of(one.mutex("x").try_acquire()), "busy");
}

TEST(PostgresTableRights, TheDatabasesOwnSettingsDoNoHarm) {
  PostgresServer server({.arguments = {"-c", "default_transaction_isolation=serializable", "-c",
                                       "idle_session_timeout=200ms", "-c", "lock_timeout=50ms"}});
  Client client = open(server.url());
  Client other = open(server.url());
  for (int round = 0; round < 3; ++round) {
    Result<Lease> lease = client.mutex("x", kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    Pending pending = in_thread([&] { return other.mutex("x", kLong).try_acquire_for(20s); });
    ASSERT_TRUE(eventually([&] { return waiters(client, "x") == 1; }));
    pause_for(400ms);
    ASSERT_EQ(told(lease->release()), "granted");
    ASSERT_TRUE(arrives(pending));
    EXPECT_EQ(told(pending.get()), "granted");
  }
}

// ---- Connections -------------------------------------------------------------------------------

TEST(PostgresTableConnections, ALeaseOutlivesItsConnections) {
  PostgresServer& server = shared_server();
  Client client = open(server.url() + "?prefix=outlives:");
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  const Token token = lease->token();
  kill_sessions(server);
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(lease->token(), token);
  EXPECT_EQ(told(lease->release()), "granted");
}

TEST(PostgresTableConnections, AWaiterWhoseConnectionsAreKilledKeepsItsPlace) {
  PostgresServer& server = shared_server();
  const std::string url = server.url() + "?prefix=killed:";
  Client holder = open(url);
  Client first = open(url);
  Client second = open(url);
  Result<Lease> lease = holder.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending one = in_thread([&] { return first.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 1; }));
  Pending two = in_thread([&] { return second.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 2; }));
  kill_sessions(server);
  // They listen again, under other numbers.
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 2; }));
  ASSERT_EQ(told(lease->release()), "granted");
  ASSERT_TRUE(arrives(one));
  Result<Lease> won = one.get();
  ASSERT_EQ(told(won), "granted");
  EXPECT_FALSE(contract::is_ready(two));
  ASSERT_EQ(told(won->release()), "granted");
  ASSERT_TRUE(arrives(two));
  EXPECT_EQ(told(two.get()), "granted");
}

TEST(PostgresTableConnections, ADeadWaiterIsSkippedAtOnce) {
  PostgresServer& server = shared_server();
  const std::string url = server.url() + "?prefix=dead:";
  Client holder = open(url);
  Client living = open(url);
  Result<Lease> lease = holder.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  // Nobody listens as 12345.
  server.query(
      "INSERT INTO holdfast_waiter"
      "(name, seq, claim, mode, permits, ttl, process, outlives, since, label)"
      " SELECT 'dead:x', i, decode(lpad(to_hex(i), 32, '0'), 'hex'), 0, 1, 30000000000, 12345, 0, "
      "0, "
      "''"
      " FROM generate_series(1, 40) i");
  server.query("UPDATE holdfast_lock SET waiting = 40, line = 40 WHERE name = 'dead:x'");
  Pending pending = in_thread([&] { return living.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] {
    return server.query(
               "SELECT count(*) FROM holdfast_waiter WHERE name = 'dead:x' AND"
               " process <> 12345") == "1";
  }));
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease->release()), "granted");
  ASSERT_TRUE(arrives(pending));
  EXPECT_EQ(told(pending.get()), "granted");
  EXPECT_LT(BootClock::now() - released, 10s) << "each of the dead was waited for";
  EXPECT_EQ(server.query("SELECT count(*) FROM holdfast_waiter WHERE name = 'dead:x'"), "0");
}

// The next waiter is read before the row is ours.
TEST(PostgresTableConnections, OneThatLeavesWhileARequestWaitsToPassItOnIsNotGivenIt) {
  PostgresServer& server = shared_server();
  const std::string url = server.url() + "?prefix=leaves:";
  Client holder = open(url);
  Client leaving = open(url);
  Client staying = open(url);
  Result<Lease> lease = holder.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending one = in_thread([&] { return leaving.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 1; }));
  Pending two = in_thread([&] { return staying.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 2; }));
  // The turn of one who leaves.
  test::PostgresClient turn("127.0.0.1", server.port());
  turn.value("BEGIN; SELECT 1 FROM holdfast_lock WHERE name = 'leaves:x' FOR UPDATE");
  std::jthread releasing([&] { EXPECT_EQ(told(lease->release()), "granted"); });
  ASSERT_TRUE(eventually([&] { return blocked(server, "%holdfast_lock%") == "1"; }));
  turn.value(
      "DELETE FROM holdfast_waiter w USING holdfast_lock l"
      " WHERE l.name = 'leaves:x' AND w.name = l.name AND w.seq = l.head;"
      " UPDATE holdfast_lock SET waiting = waiting - 1, head = head + 1 WHERE name = 'leaves:x';"
      " COMMIT");
  ASSERT_TRUE(arrives(two));
  Result<Lease> won = two.get();
  EXPECT_EQ(told(won), "granted");
  EXPECT_FALSE(contract::is_ready(one));
  EXPECT_EQ(told(won->release()), "granted");
  // It comes again when it finds that it is not in the queue any more.
  EXPECT_EQ(told(one.get()), "granted");
}

TEST(PostgresTableConnections, NoMoreConnectionsThanAllowed) {
  PostgresServer server(
      {.arguments = {"-c", "max_connections=6", "-c", "superuser_reserved_connections=2"}});
  server.query("CREATE ROLE app LOGIN; GRANT CREATE ON SCHEMA public TO app");
  Client client = open(server.url("app") + "?connections=2");
  std::vector<std::thread> threads;
  std::atomic<int> granted = 0;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        granted += client.mutex("x" + std::to_string(i)).try_acquire().ok() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, 80);
  EXPECT_EQ(server.query("SELECT count(*) <= 3 FROM pg_stat_activity"
                         " WHERE application_name = 'holdfast'"),
            "t");
  // The others are taken: whoever comes now is told so.
  Client second = open(server.url("app") + "?connections=2");
  // Not at once: the backend of query() still has a connection until it has ended.
  ASSERT_TRUE(eventually([&] { return told(second.mutex("y").try_acquire()) == "granted"; }));
  Pending waiting = in_thread([&] {
    Result<Lease> held = client.mutex("z", kLong).try_acquire();
    return second.mutex("z", kLong).try_acquire_for(1s);
  });
  Client third = open(server.url("app"));
  std::vector<Client> more;
  std::string told_so;
  for (int i = 0; i < 6 && told_so.find("too many") == std::string::npos; ++i) {
    more.push_back(open(server.url("app")));
    told_so = told(more.back().mutex("w").try_acquire());
  }
  EXPECT_THAT(told_so, HasSubstr("unreachable"));
  EXPECT_TRUE(arrives(waiting));
}

TEST(PostgresTableConnections, LostRepliesGiveOneHoldWithOneToken) {
  PostgresServer& server = shared_server();
  Proxy proxy(server.port());
  Client client = open(url_of(proxy, "?prefix=lost:"));
  Client watcher = open(server.url() + "?prefix=lost:");
  const auto lose_replies = [&](const std::function<void()>& call) {
    proxy.set(Direction::to_client, ProxyMode::drop);
    const std::int64_t before = proxy.received(Direction::to_client);
    std::jthread caller(call);
    ASSERT_TRUE(eventually([&] { return proxy.received(Direction::to_client) > before; }));
    proxy.set(Direction::to_client, ProxyMode::pass);
    proxy.reset();
  };
  ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire()), "granted");
  Result<Lease> lease = Failure(Code::closed, "");
  lose_replies([&] { lease = client.mutex("x", kLong).try_acquire(); });
  ASSERT_EQ(told(lease), "granted");
  const Result<LockInfo> seen = watcher.inspect("x");
  ASSERT_EQ(seen->holders.size(), 1U);
  EXPECT_EQ(seen->holders[0].token, lease->token());
  // Renewals have a connection of their own.
  ASSERT_EQ(told(lease->renew()), "granted");
  Result<void> renewed = Failure(Code::closed, "");
  lose_replies([&] { renewed = lease->renew(); });
  EXPECT_EQ(told(renewed), "granted");
  ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire()), "granted");
  Result<void> released = Failure(Code::closed, "");
  lose_replies([&] { released = lease->release(); });
  EXPECT_EQ(told(released), "granted");
  EXPECT_TRUE(watcher.inspect("x")->holders.empty());
}

TEST(PostgresTableConnections, AServerThatSaysNothingIsUnknownAndCleanedUp) {
  PostgresServer& server = shared_server();
  Proxy proxy(server.port());
  Client client = open(url_of(proxy, "?prefix=silent:"), ClientOptions{.request_timeout = 500ms});
  Client watcher = open(server.url() + "?prefix=silent:");
  ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire()), "granted");
  proxy.set(Direction::to_client, ProxyMode::hold);
  const Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  EXPECT_EQ(outcome_of(lease), "unknown");
  proxy.set(Direction::to_client, ProxyMode::pass);
  EXPECT_TRUE(eventually([&] { return watcher.inspect("x")->holders.empty(); }));
}

// ---- The server --------------------------------------------------------------------------------

TEST(PostgresTableServer, ARestartKeepsHoldsQueuesAndTokens) {
  PostgresServer server;
  expect_a_restart_keeps_everything(server.url(), [&] { server.restart(); });
}

TEST(PostgresTableServer, AClientThatIsStoppedInATransactionIsThrownOut) {
  PostgresServer& server = shared_server();
  Client client = open(server.url() + "?prefix=stopped:");
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  // The remains of such a client: the row is locked, and nobody goes on. Ours set this timeout
  // for themselves.
  std::jthread stopped([&] {
    try {
      server.query(
          "SET idle_in_transaction_session_timeout = '3s'; BEGIN;"
          " SELECT 1 FROM holdfast_lock WHERE name = 'stopped:x' FOR UPDATE; SELECT pg_sleep(1)");
    } catch (const std::runtime_error&) {
    }
  });
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(20s)), "granted");
}

TEST(PostgresTableServer, WhenItsClockIsSetAheadTokensStillGrow) {
  PostgresServer server({.movable_clock = true});
  expect_tokens_grow_over_a_jump_ahead(server.url(), server.clock());
}

TEST(PostgresTableServer, WhenItsClockIsSetBackNothingIsStrandedForMoreThanATtl) {
  PostgresServer server({.movable_clock = true});
  expect_a_jump_back_strands_nothing(server.url(), server.clock());
}

// ---- Waiting -----------------------------------------------------------------------------------

TEST(PostgresTableWaiting, ManyWhoWaitCostNothingButTheirHeartbeat) {
  PostgresServer& server = shared_server();
  const std::string url = server.url() + "?prefix=idle:";
  Client holder = open(url);
  Client crowd = open(url);
  Result<Lease> lease = holder.mutex("x", LockOptions{.ttl = 60s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  std::stop_source stop;
  std::vector<Pending> pending;
  for (int i = 0; i < 50; ++i) {
    pending.push_back(in_thread(
        [&] { return crowd.mutex("x", LockOptions{.ttl = 60s}).acquire(stop.get_token()); }));
  }
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 50; }));
  const auto statements = [&] {
    pause_for(1100ms);  // Counts are reported once a second.
    return std::stoll(
        server.query("SELECT xact_commit FROM pg_stat_database"
                     " WHERE datname = 'postgres'"));
  };
  const long long before = statements();
  pause_for(2s);
  const long long after = statements();
  // A heartbeat every 15 s each is 17 in this time; the test's own questions are some.
  EXPECT_LT(after - before, 40);
  stop.request_stop();
  for (Pending& each : pending) {
    ASSERT_TRUE(arrives(each));
    EXPECT_EQ(outcome_of(each.get()), "cancelled");
  }
  EXPECT_EQ(waiters(holder, "x"), 0U);
  EXPECT_EQ(server.query("SELECT count(*) <= 10 FROM pg_stat_activity"
                         " WHERE application_name = 'holdfast'"),
            "t");
}

}  // namespace
}  // namespace holdfast::postgres_tests
