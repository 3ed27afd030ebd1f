// The recipe `table`: rows at the server, and who is woken when.
#include "database_faults.h"
#include "mysql_testing.h"

namespace holdfast::mysql_tests {
namespace {

std::string table_url(const MariadbServer& server, const std::string& options = "") {
  return server.url("recipe=table" + (options.empty() ? "" : "&" + options));
}

// A ttl whose quarter, after which a waiter looks by itself, is longer than any of these tests waits.
constexpr LockOptions kQuiet{.ttl = 600s};
constexpr Duration kSooner = 12s;

// A waiter is told: it gets the lock long before it would look by itself.
void expect_quick_hand_over(Lease& lease, Pending& pending) {
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(pending));
  EXPECT_EQ(told(pending.get()), "granted");
  EXPECT_LT(BootClock::now() - released, kSooner);
}

class MysqlTable : public MysqlTest {};

TEST_F(MysqlTable, ARecipeIsNotNeededInTheUrl) {
  Client client = open(server().url("prefix=plain:"));
  EXPECT_EQ(told(client.mutex("x").try_acquire()), "granted");
  EXPECT_EQ(server().value("SELECT COUNT(*) FROM holdfast.holdfast_lock WHERE name = 'plain:x'"),
            "1");
}

TEST_F(MysqlTable, WhoWaitsIsWokenAndDoesNotAskInVain) {
  const std::string url = table_url(server(), "prefix=woken:");
  Client holder = open(url);
  Client waiting = open(url);
  for (int round = 0; round < 5; ++round) {
    Result<Lease> lease = holder.mutex("x", kQuiet).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    Pending pending = in_thread([&] { return waiting.mutex("x", kQuiet).try_acquire_for(60s); });
    ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 1; }));
    pause_for(round * 50ms);
    const BootTime released = BootClock::now();
    const Token before = lease->token();
    ASSERT_EQ(told(lease->release()), "granted");
    ASSERT_TRUE(arrives(pending));
    Result<Lease> won = pending.get();
    ASSERT_EQ(told(won), "granted");
    EXPECT_LT(BootClock::now() - released, kSooner);
    EXPECT_GT(won->token(), before);
    ASSERT_EQ(told(won->release()), "granted");
  }
}

TEST_F(MysqlTable, ManyWhoWaitInOneClientAreWokenOneByOne) {
  const std::string url = table_url(server(), "prefix=many:");
  Client holder = open(url);
  Client crowd = open(url);
  Result<Lease> lease = holder.mutex("x", kQuiet).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  std::atomic<int> inside = 0;
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] {
      Result<Lease> mine = crowd.mutex("x", kQuiet).try_acquire_for(60s);
      EXPECT_EQ(told(mine), "granted");
      EXPECT_EQ(++inside, 1);
      --inside;
      ++done;
    });
  }
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 20; }));
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease->release()), "granted");
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 20);
  EXPECT_LT(BootClock::now() - released, kSooner);
}

// Answers from several connections come in another order than the server has put the claims in.
TEST_F(MysqlTable, ClaimsThatQueueAtTheSameTimeAreWokenInTheOrderOfTheQueue) {
  constexpr std::size_t kWaiters = 200;
  Proxy proxy(server().port());
  Client holder = open(table_url(server(), "prefix=together:"));
  Client crowd =
      open("mysql://root@127.0.0.1:" + std::to_string(proxy.port()) + "/holdfast?prefix=together:");
  Result<Lease> lease = holder.mutex("x", kQuiet).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Mutex mutex = crowd.mutex("x", kQuiet);
  // Shared with callbacks that come after a failure has ended the test.
  const auto served = std::make_shared<std::atomic<std::size_t>>(0);
  for (std::size_t i = 0; i < kWaiters; ++i) {
    mutex.async_acquire().then([served](Result<Lease> mine) { *served += mine.ok() ? 1 : 0; });
  }
  ASSERT_TRUE(eventually([&] {
    proxy.set(test::Direction::to_client, test::ProxyMode::hold);
    pause_for(30ms);
    proxy.set(test::Direction::to_client, test::ProxyMode::pass);
    return waiters(holder, "x") == kWaiters;
  }));
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease->release()), "granted");
  EXPECT_TRUE(eventually([&] { return *served == kWaiters; })) << *served;
  EXPECT_LT(BootClock::now() - released, kSooner);
  EXPECT_TRUE(eventually([&] { return told(holder.mutex("x").try_acquire()) == "granted"; }));
}

TEST_F(MysqlTable, ManyWhoWaitCostNothingButTheirHeartbeat) {
  const std::string url = table_url(server(), "prefix=idle:");
  Client holder = open(url);
  Client crowd = open(url);
  Result<Lease> lease = holder.mutex("x", kQuiet).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  std::stop_source stop;
  std::vector<Pending> pending;
  for (int i = 0; i < 50; ++i) {
    pending.push_back(
        in_thread([&] { return crowd.mutex("x", kQuiet).acquire(stop.get_token()); }));
  }
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 50; }));
  const auto statements = [&] {
    return std::stoll(server().query("SHOW GLOBAL STATUS LIKE 'Questions'").at(0).at(1));
  };
  pause_for(1s);
  const long long before = statements();
  pause_for(3s);
  // A heartbeat every 15 s each is 10 in this time, two statements at most; and the test's own.
  EXPECT_LT(statements() - before, 40);
  stop.request_stop();
  for (Pending& each : pending) {
    ASSERT_TRUE(arrives(each));
    EXPECT_EQ(outcome_of(each.get()), "cancelled");
  }
  // (Who could not be taken out of the line in a second is taken out in the background.)
  EXPECT_TRUE(eventually([&] { return waiters(holder, "x") == 0; }));
}

// The session that has the name of the first waiter; "0" if there is none.
std::string session_of_first(const MariadbServer& server, const std::string& key) {
  return server.value(
      "SELECT COALESCE(IS_USED_LOCK(CONCAT('holdfast:', LOWER(HEX(SUBSTR(waiters, 1, 16))))), 0)"
      " FROM holdfast.holdfast_lock WHERE name = '" +
      key + "'");
}

// A waiter whose name is gone counts as dead.
TEST_F(MysqlTable, NamesAreTakenAgainWhenTheirConnectionIsKilled) {
  const std::string url = table_url(server(), "prefix=names:");
  Client holder = open(url);
  Client waiter = open(url);
  Result<Lease> lease = holder.mutex("x", kQuiet).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending pending = in_thread([&] { return waiter.mutex("x", kQuiet).try_acquire_for(60s); });
  const auto session = [&] {
    return waiters(holder, "x") == 1 ? session_of_first(server(), "names:x") : "0";
  };
  ASSERT_TRUE(eventually([&] { return session() != "0"; }));
  const std::string before = session();
  server().query("KILL " + before);
  ASSERT_TRUE(eventually([&] { return session() != "0" && session() != before; }));
  EXPECT_FALSE(contract::is_ready(pending));
  expect_quick_hand_over(*lease, pending);
}

TEST_F(MysqlTable, AWaiterThatIsInterruptedAllTheTimeGetsTheLock) {
  const std::string url = table_url(server(), "prefix=hail:");
  Client first = open(url);
  Client holder = open(url);
  Client waiter = open(url);
  // The second holder has waited: it has a name, and the waiter sleeps on it.
  Result<Lease> lease = first.mutex("x", kQuiet).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending second = in_thread([&] { return holder.mutex("x", kQuiet).try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] { return waiters(first, "x") == 1; }));
  ASSERT_EQ(told(lease->release()), "granted");
  ASSERT_TRUE(arrives(second));
  lease = second.get();
  ASSERT_EQ(told(lease), "granted");
  Pending pending = in_thread([&] { return waiter.mutex("x", kQuiet).try_acquire_for(60s); });
  const std::string asleep =
      "SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST WHERE STATE = 'User lock'";
  ASSERT_TRUE(eventually([&] { return server().value(asleep) != "0"; }));
  std::vector<std::thread> hail;
  for (int i = 0; i < 3; ++i) {
    hail.emplace_back([&] {
      for (int j = 0; j < 50; ++j) {
        const std::string session = server().value(asleep);
        try {
          if (session != "0") server().query("KILL QUERY " + session);
        } catch (const std::runtime_error&) {  // It is not there any more.
        }
      }
    });
  }
  for (std::thread& each : hail) each.join();
  EXPECT_FALSE(contract::is_ready(pending));
  expect_quick_hand_over(*lease, pending);
}

// A holder that did not have to wait has no name to sleep on, until it renews and sees that it is waited for.
TEST_F(MysqlTable, AHolderThatIsWaitedForTakesItsName) {
  const std::string url = table_url(server(), "prefix=renewed:");
  Client holder = open(url);
  Client waiter = open(url);
  Result<Lease> lease = holder.mutex("x", kQuiet).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  const auto named = [&] {
    return server().value(
        "SELECT COALESCE(IS_USED_LOCK(CONCAT('holdfast:', LOWER(HEX(owner)))), 0)"
        " FROM holdfast.holdfast_lock WHERE name = 'renewed:x'");
  };
  ASSERT_EQ(told(lease->renew()), "granted");
  EXPECT_EQ(named(), "0");
  Pending pending = in_thread([&] { return waiter.mutex("x", kQuiet).try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 1; }));
  ASSERT_EQ(told(lease->renew()), "granted");
  EXPECT_TRUE(eventually([&] { return named() != "0"; }));
  expect_quick_hand_over(*lease, pending);
}

// A waiter that leaves makes a gap in the line; those behind it are found all the same, and in their order.
TEST_F(MysqlTable, WhoStandsBehindOneThatLeftIsNext) {
  const std::string url = table_url(server(), "prefix=gap:");
  Client holder = open(url);
  Result<Lease> lease = holder.mutex("x", kQuiet).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(open(url));
  std::vector<std::stop_source> stops(4);
  std::vector<Pending> pending;
  for (std::size_t i = 0; i < 4; ++i) {
    pending.push_back(
        in_thread([&, i] { return clients[i].mutex("x", kQuiet).acquire(stops[i].get_token()); }));
    ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == i + 1; }));
  }
  for (const std::size_t leaver : {0U, 2U}) {
    stops[leaver].request_stop();
    ASSERT_TRUE(arrives(pending[leaver]));
    EXPECT_EQ(outcome_of(pending[leaver].get()), "cancelled");
  }
  const BootTime released = BootClock::now();
  Token last = lease->token();
  ASSERT_EQ(told(lease->release()), "granted");
  for (const std::size_t next : {1U, 3U}) {
    ASSERT_TRUE(arrives(pending[next]));
    Result<Lease> won = pending[next].get();
    ASSERT_EQ(told(won), "granted");
    EXPECT_GT(won->token(), last);
    last = won->token();
    ASSERT_EQ(told(won->release()), "granted");
  }
  EXPECT_LT(BootClock::now() - released, kSooner);
  EXPECT_EQ(told(holder.mutex("x", kQuiet).try_acquire()), "granted");
}

TEST_F(MysqlTable, ADeadWaiterIsSkippedAtOnce) {
  const std::string url = table_url(server(), "prefix=dead:");
  Client holder = open(url);
  Client living = open(url);
  Result<Lease> lease = holder.mutex("x", kQuiet).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  // Nobody has the names of these.
  server().query(
      "UPDATE holdfast.holdfast_lock SET version = version + 1, labels = REPEAT(X'0000', 20), "
      "waiters ="
      " CONCAT(REPEAT(CONCAT('claim of nobody!', X'00000006FC23AC00', REPEAT(X'00', 8), "
      "X'0000000100'), 20))"
      " WHERE name = 'dead:x'");
  ASSERT_EQ(
      server().value("SELECT LENGTH(waiters) FROM holdfast.holdfast_lock WHERE name = 'dead:x'"),
      "740");
  Pending pending = in_thread([&] { return living.mutex("x", kQuiet).try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] {
    return server().value(
               "SELECT LENGTH(waiters) FROM holdfast.holdfast_lock WHERE name = 'dead:x'") == "777";
  }));
  SCOPED_TRACE("each of the dead was waited for");
  expect_quick_hand_over(*lease, pending);
}

TEST_F(MysqlTable, ARestartKeepsHoldsQueuesAndTokens) {
  MariadbServer own;
  expect_a_restart_keeps_everything(table_url(own), [&] { own.restart(); });
}

TEST_F(MysqlTable, WhenTheClockIsSetAheadTokensStillGrow) {
  MariadbServer own({.movable_clock = true});
  expect_tokens_grow_over_a_jump_ahead(table_url(own), own.clock());
}

TEST_F(MysqlTable, WhenTheClockIsSetBackNothingIsStrandedForMoreThanATtl) {
  MariadbServer own({.movable_clock = true});
  expect_a_jump_back_strands_nothing(table_url(own), own.clock());
}

TEST_F(MysqlTable, WhoMayNotCreateTablesLearnsHowTheyAreMade) {
  MariadbServer own;
  own.query("CREATE USER app@'127.0.0.1' IDENTIFIED BY 'pw'");
  own.query("GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.* TO app@'127.0.0.1'");
  const std::string url =
      "mysql://app:pw@127.0.0.1:" + std::to_string(own.port()) + "/holdfast?recipe=table";
  std::string told_so = try_at(url);
  EXPECT_THAT(told_so, StartsWith("misconfigured"));
  EXPECT_THAT(told_so, HasSubstr("holdfast schema"));
  told_so = try_at(table_url(own, "create_schema=no"));
  EXPECT_THAT(told_so, HasSubstr("holdfast schema"));
  ASSERT_EQ(try_at(table_url(own)), "granted");
  EXPECT_EQ(try_at(url), "granted");
}

}  // namespace
}  // namespace holdfast::mysql_tests
