// Servers in a bad state: loading, read-only, full, with other people's keys in the lock's place,
// emptied. Each gives a clear error or is got over; what is held can be given back.
#include <algorithm>
#include <future>
#include <mutex>

#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

// Where the token and the queue of the lock "x" are (docs/engines/redis.md).
constexpr const char* kTokenKey = "{x}:hf:t";
constexpr const char* kQueueKey = "{x}:hf:q";

// ---- Not ready, not willing --------------------------------------------------------------------

TEST(RedisState, AServerThatIsLoadingIsWaitedForOrNamed) {
  // A millisecond for each key, and it listens after every few.
  RedisServer server({.arguments = {"--key-load-delay", "1000", "--rdbcompression", "no",
                                    "--loading-process-events-interval-bytes", "2048"}});
  server.command(
      {"EVAL", "for i = 1, 1500 do redis.call('SET', 'k' .. i, string.rep('x', 500)) end", "0"});
  ASSERT_EQ(server.command({"SAVE"}), "OK");
  std::jthread restart([&] { server.restart(); });  // 1.5 s, most of it loading
  ASSERT_TRUE(eventually([&] {
    try {
      return test::RedisConnection(server.port()).command({"GET", "k1"}).find("LOADING") !=
             std::string::npos;
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
  Client hasty = open(server.url() + "?command_timeout_ms=300");
  EXPECT_THAT(told(hasty.mutex("x", kLong).try_acquire()), HasSubstr("still loading"));
  Client patient = open(server.url());
  EXPECT_EQ(told(patient.mutex("x", kLong).try_acquire()), "granted");
}

TEST(RedisState, AReadOnlyReplicaIsNamed) {
  RedisServer master({.arguments = {"--repl-diskless-sync", "no"}});
  RedisServer replica({.arguments = {"--repl-diskless-sync", "no"}});
  replica.command({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
  ASSERT_TRUE(eventually([&] {
    return replica.command({"INFO", "replication"}).find("master_link_status:up") !=
           std::string::npos;
  }));
  Client client = open(replica.url());
  const std::string said = told(client.mutex("x", kLong).try_acquire());
  EXPECT_THAT(said, HasSubstr("misconfigured"));
  EXPECT_THAT(said, HasSubstr("read-only replica"));
  EXPECT_THAT(told(client.mutex("x", kLong).try_acquire_for(100ms)), HasSubstr("read-only"));
}

TEST(RedisState, ADemotedMasterIsAskedOnAnotherConnectionNextTime) {
  RedisServer other({.arguments = {"--repl-diskless-sync", "no"}});
  RedisServer server({.arguments = {"--repl-diskless-sync", "no"}});
  const Proxy proxy(server.port());
  Client client = open(url_of(proxy));
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  server.command({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
  ASSERT_TRUE(eventually([&] {
    return server.command({"INFO", "replication"}).find("master_link_status:up") !=
           std::string::npos;
  }));
  EXPECT_EQ(outcome_of(client.mutex("x", kLong).try_acquire()), "unreachable");
  const std::int64_t before = proxy.accepted();
  EXPECT_EQ(outcome_of(client.mutex("x", kLong).try_acquire()), "unreachable");
  EXPECT_GT(proxy.accepted(), before) << "behind this address there may be another server by now";
  // Waited for, because it was a master: the failover may come back.
  auto waiting = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(30s); });
  pause_for(200ms);
  server.command({"REPLICAOF", "NO", "ONE"});
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

TEST(RedisState, AFullServerRefusesNewLocksAndTakesBackOldOnes) {
  RedisServer server;
  Client client = open(server.url());
  Client other = open(server.url());
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending waiting = in_thread([&] { return other.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(client, "x") == 1; }));
  ASSERT_EQ(server.command({"CONFIG", "SET", "maxmemory", "1"}), "OK");

  EXPECT_THAT(told(client.mutex("y", kLong).try_acquire()), HasSubstr("out of memory"));
  EXPECT_THAT(told(client.shared_mutex("z", kLong).try_acquire_shared()),
              HasSubstr("out of memory"));
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(told(lease->release()), "granted");
  ASSERT_EQ(server.command({"CONFIG", "SET", "maxmemory", "0"}), "OK");
  EXPECT_EQ(told(waiting.get()), "granted");
  EXPECT_TRUE(client.inspect("x").value().waiters.empty());
  expect_free_soon(client, "y");
  expect_free_soon(client, "z");
}

TEST(RedisState, AFullServerRenewsAndTakesBackWhatIsShared) {
  RedisServer server;
  Client client = open(server.url());
  Client other = open(server.url());
  std::vector<Lease> leases;
  for (Client* each : {&client, &other}) {
    leases.push_back(each->shared_mutex("s", kLong).try_acquire_shared().value());
    leases.push_back(each->semaphore("p", 3, kLong).try_acquire().value());
  }
  ASSERT_EQ(server.command({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  for (int round = 0; round < 2; ++round) {
    for (Lease& lease : leases) EXPECT_EQ(told(lease.renew()), "granted");
  }
  for (Lease& lease : leases) EXPECT_TRUE(lease.held());
  const std::string refused = told(client.semaphore("p", 3, kLong).try_acquire());
  EXPECT_THAT(refused, HasSubstr("out of memory (maxmemory"));
  EXPECT_EQ(client.inspect("p").value().holders.size(), 2U) << "half of a grant is left";
  for (Lease& lease : leases) EXPECT_EQ(told(lease.release()), "granted");
  EXPECT_EQ(server.command({"EXISTS", "s", "p", "{s}:hf:h", "{s}:hf:i", "{p}:hf:h"}), "0");
}

TEST(RedisState, AServerThatMayEvictLocksIsWarnedOfOnce) {
  RedisServer server({.arguments = {"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}});
  Proxy proxy(server.port());
  auto listener = std::make_shared<Listener>();
  Client client = open(url_of(proxy), {.observer = listener});
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
    proxy.reset();  // It asks the server again when it connects again.
  }
  ASSERT_EQ(listener->warnings().size(), 1U);
  EXPECT_THAT(listener->warnings().front(), HasSubstr("allkeys-lru"));
}

TEST(RedisState, AServerThatNeverEvictsLocksIsNotWarnedOf) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--maxmemory", "100mb", "--maxmemory-policy", "noeviction"},
        std::vector<std::string>{"--maxmemory", "0", "--maxmemory-policy", "allkeys-lru"}}) {
    RedisServer server({.arguments = arguments});
    auto listener = std::make_shared<Listener>();
    Client client = open(server.url(), {.observer = listener});
    ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
    EXPECT_TRUE(listener->warnings().empty());
  }
}

// ---- Keys in the way ---------------------------------------------------------------------------

class RedisKeyInTheWay : public testing::TestWithParam<const char*> {};

TEST_P(RedisKeyInTheWay, IsNamedAndStrandsNothing) {
  const std::string key = GetParam();
  RedisServer server;
  Client client = open(server.url());
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");  // and released again
  for (const std::vector<std::string>& other : {std::vector<std::string>{"LPUSH", key, "a"},
                                                std::vector<std::string>{"HSET", key, "a", "b"},
                                                std::vector<std::string>{"SADD", key, "a"}}) {
    server.command({"DEL", key});
    server.command(other);
    EXPECT_THAT(told(client.mutex("x", kLong).try_acquire()), HasSubstr("misconfigured"));
    EXPECT_THAT(told(client.mutex("x", kLong).try_acquire_for(50ms)), HasSubstr("misconfigured"));
    EXPECT_THAT(told(client.shared_mutex("x", kLong).try_acquire_shared()),
                HasSubstr("misconfigured"));
    EXPECT_EQ(server.command({"TYPE", key}).substr(0, 2), other.front() == "LPUSH"  ? "li"
                                                          : other.front() == "HSET" ? "ha"
                                                                                    : "se")
        << "somebody else's key was harmed";
    server.command({"DEL", key});
    expect_free_soon(client, "x", 0ms);
    EXPECT_TRUE(client.inspect("x").value().waiters.empty());
  }
}

TEST_P(RedisKeyInTheWay, DoesNotKeepTheHolderFromGivingBack) {
  const std::string key = GetParam();
  if (key == "x") GTEST_SKIP() << "then it does not hold it any more";
  RedisServer server;
  Client client = open(server.url());
  Client other = open(server.url());
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending waiting = in_thread([&] { return other.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(client, "x") == 1; }));
  server.command({"DEL", key});
  server.command({"SADD", key, "a"});
  static_cast<void>(lease->release());  // an error is allowed, a stranded lock is not
  ASSERT_TRUE(arrives(waiting));
  EXPECT_THAT(told(waiting.get()), HasSubstr("misconfigured"));
  EXPECT_EQ(server.command({"EXISTS", "x"}), "0");
  server.command({"DEL", key});
  expect_free_soon(client, "x", 0ms);
}

INSTANTIATE_TEST_SUITE_P(, RedisKeyInTheWay, testing::Values("x", kTokenKey, kQueueKey),
                         [](const testing::TestParamInfo<const char*>& key) {
                           return std::string(key.index == 0   ? "Word"
                                              : key.index == 1 ? "Token"
                                                               : "Queue");
                         });

TEST(RedisState, ATokenThatIsNoNumberIsNamed) {
  RedisServer server;
  server.command({"SET", kTokenKey, "soon"});
  Client client = open(server.url());
  EXPECT_THAT(told(client.mutex("x", kLong).try_acquire()), HasSubstr("misconfigured"));
  EXPECT_EQ(server.command({"EXISTS", "x"}), "0");
}

// Whatever another client's value looks like.
TEST(RedisState, AForeignLockOfAnyValueIsBusy) {
  RedisServer server;
  Client client = open(server.url());
  for (const std::string value :
       {"", " ", "a", "a b", "deadbeef x", "holdfast:", "holdfast:x", "holdfast:permits",
        "holdfast:permits ", "holdfast:permits 3", "holdfast:shared",
        "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdeg me"}) {
    server.command({"SET", "x", value, "PX", "60000"});
    const Result<Lease> lease = client.mutex("x", kLong).try_acquire();
    // A group without members is nobody's, and ends at once.
    if (value.starts_with("holdfast:")) continue;
    ASSERT_EQ(outcome_of(lease), "busy") << "'" << value << "'";
    EXPECT_EQ(server.command({"GET", "x"}), value);
    EXPECT_EQ(told(client.inspect("x")), "granted");
    EXPECT_EQ(told(client.list()), "granted");
    EXPECT_EQ(outcome_of(client.evict("x", client.inspect("x")->last_token)), "not_held") << value;
    EXPECT_EQ(server.command({"GET", "x"}), value);
  }
}

// ---- Emptied -----------------------------------------------------------------------------------

TEST(RedisState, FlushedScriptsGoUnnoticed) {
  RedisServer server;
  Client client = open(server.url());
  std::atomic<bool> done = false;
  std::jthread flusher([&] {
    while (!done) server.command({"SCRIPT", "FLUSH"});
  });
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string name = i % 2 == 0 ? "shared" : "own" + std::to_string(t);
        Result<Lease> lease = client.mutex(name, kLong).acquire();
        EXPECT_EQ(told(lease), "granted");
        if (!lease) return;
        EXPECT_EQ(told(lease->renew()), "granted");
        EXPECT_EQ(told(client.inspect(name)), "granted");
        EXPECT_EQ(told(lease->release()), "granted");
      }
    });
  }
  threads.clear();
  done = true;
}

int calls(RedisServer& server, const std::string& command) {
  const std::string stats = server.command({"INFO", "commandstats"});
  const std::string field = "cmdstat_" + command + ":calls=";
  const std::size_t place = stats.find(field);
  return place == std::string::npos ? 0 : std::stoi(stats.substr(place + field.size()));
}

int scripts_run(RedisServer& server) { return calls(server, "eval") + calls(server, "evalsha"); }

// A waiter for one lock asks for others too, and those are free as ever.
TEST(RedisState, WhoWaitsTakesFreeLocksByTheShortWay) {
  RedisServer server;
  Client client = open(server.url());
  Lease held = client.mutex("busy").acquire().value();
  std::future<Result<Lease>> waiting =
      std::async(std::launch::async, [&] { return client.mutex("busy").acquire(); });
  ASSERT_TRUE(eventually([&] { return client.inspect("busy").value().waiters.size() == 1; }));
  const int scripts = scripts_run(server);
  const int long_ways = calls(server, "hget");
  Mutex mutex = client.mutex("free");
  for (int i = 0; i < 50; ++i) mutex.acquire().value().release().value();
  EXPECT_EQ(scripts_run(server) - scripts, 100);
  EXPECT_EQ(calls(server, "hget"), long_ways);
  ASSERT_TRUE(held.release());
  EXPECT_EQ(told(waiting.get()), "granted");
}

// A script is some kilobytes: a thousand leases would send megabytes every few seconds.
TEST(RedisState, RenewalsDoNotBringTheirScriptsEachTime) {
  RedisServer server;
  Client client = open(server.url());
  std::vector<Lease> held;
  for (int i = 0; i < 20; ++i) {
    held.push_back(client.mutex("x" + std::to_string(i), {.ttl = 1500ms}).acquire().value());
    held.push_back(
        client.shared_mutex("s" + std::to_string(i), {.ttl = 1500ms}).acquire_shared().value());
  }
  const int acquired = scripts_run(server);
  const auto renewed = [&] { return scripts_run(server) - acquired; };
  EXPECT_TRUE(eventually([&] { return renewed() >= 80; })) << "each of them twice";
  const int with_script = calls(server, "eval");
  EXPECT_TRUE(eventually([&] { return renewed() >= 200; }));
  EXPECT_EQ(calls(server, "eval"), with_script);
}

TEST(RedisState, FlushedDataIsHeardOfAndTokensStillGrow) {
  RedisServer server;
  Client client = open(server.url());
  const LockOptions brisk{.ttl = 900ms};
  Result<Lease> lease = client.mutex("x", brisk).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  const BootTime flushed = BootClock::now();
  server.command({"FLUSHALL"});
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
  EXPECT_LT(since(flushed), brisk.ttl);
  EXPECT_FALSE(lease->held());
  const Result<Lease> next = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), lease->token());
  EXPECT_EQ(outcome_of(lease->release()), "not_held");
  EXPECT_EQ(visible_token(client, "x"), next->token().value());
}

TEST(RedisState, TokensGrowOverTheLossOfTheirCounterAndAreExact) {
  RedisServer server;
  Client client = open(server.url());
  Token last(std::uint64_t{1} << 31);
  for (int i = 0; i < 200; ++i) {
    Result<Lease> lease = i % 3 == 0 ? client.shared_mutex("x", kLong).try_acquire_shared()
                                     : client.mutex("x", kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    ASSERT_GT(lease->token(), last);
    last = lease->token();
    ASSERT_EQ(server.command({"GET", kTokenKey}), last.str());
    ASSERT_EQ(visible_token(client, "x"), last.value());
    if (i % 5 == 0) server.command({"DEL", kTokenKey});
    ASSERT_EQ(told(lease->release()), "granted");
  }
  // Also where a double that is printed carelessly is not.
  server.command({"SET", kTokenKey, "9007199254740000"});
  for (std::uint64_t token = 9007199254740001; token < 9007199254740010; ++token) {
    EXPECT_EQ(client.mutex("x", kLong).try_acquire()->token().value(), token);
  }
}

// As after a crash with appendfsync everysec, or the promotion of a replica that lagged.
TEST(RedisState, ACounterRestoredFromOlderDataRepeatsNoToken) {
  RedisServer server;
  Client client = open(server.url());
  Client other = open(server.url());
  Result<Lease> first = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(first), "granted");
  const Token before = first->token();
  const std::string older = std::to_string(before.value() - 100);
  ASSERT_EQ(told(first->release()), "granted");
  pause_for(5ms);  // No server comes back in less.
  server.command({"SET", kTokenKey, older});
  Result<Lease> second = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(second), "granted");
  const Token taken = second->token();
  EXPECT_GT(taken, before);
  // By push as well.
  Pending waiting = in_thread([&] { return other.mutex("x", kLong).try_acquire_for(10s); });
  ASSERT_TRUE(eventually([&] { return waiters(client, "x") == 1; }));
  pause_for(5ms);
  server.command({"SET", kTokenKey, older});
  ASSERT_EQ(told(second->release()), "granted");
  Result<Lease> third = waiting.get();
  ASSERT_EQ(told(third), "granted");
  EXPECT_GT(third->token(), taken);
}

}  // namespace
}  // namespace holdfast::redis_tests
