// Logins: passwords, users and their rights, databases, sockets, names.
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

std::string url_for(const RedisServer& server, const std::string& user = "",
                    const std::string& rest = "") {
  return "redis://" + (user.empty() ? "" : user + "@") +
         "127.0.0.1:" + std::to_string(server.port()) + rest;
}

// ---- Passwords ---------------------------------------------------------------------------------

TEST(RedisLogin, AWrongPasswordIsSaidAndNotShown) {
  RedisServer server({.password = "right"});
  const std::string said = try_at(url_for(server, ":wr0ng-s3cret"));
  EXPECT_THAT(said, HasSubstr("misconfigured"));
  EXPECT_THAT(said, HasSubstr("password is wrong"));
  EXPECT_THAT(said, Not(HasSubstr("wr0ng-s3cret")));
}

TEST(RedisLogin, AMissingPasswordIsSaid) {
  RedisServer server({.password = "right"});
  const std::string said = try_at(url_for(server));
  EXPECT_THAT(said, HasSubstr("misconfigured"));
  EXPECT_THAT(said, HasSubstr("wants a password"));
}

TEST(RedisLogin, APasswordThatNobodyAskedForIsSaidAndNotShown) {
  RedisServer server;
  const std::string said = try_at(url_for(server, ":unas-ked"));
  EXPECT_THAT(said, HasSubstr("misconfigured"));
  EXPECT_THAT(said, Not(HasSubstr("unas-ked")));
}

TEST(RedisLogin, ThePasswordIsInNoMessageWhateverElseIsWrong) {
  RedisServer server({.password = "pa55w0rd"});
  for (const std::string rest : {"/99", "/x", "?nonsense=1", "?verify=yes", "?wait_replicas=0"}) {
    const std::string url = url_for(server, ":pa55w0rd", rest);
    Result<Client> client = Client::open(url);
    const std::string said = client ? told(client->mutex("x", kLong).try_acquire()) : told(client);
    EXPECT_THAT(said, Not(HasSubstr("granted"))) << rest;
    EXPECT_THAT(said, Not(HasSubstr("pa55w0rd"))) << rest;
  }
  const std::string url = url_for(server, ":pa55w0rd");
  Client client = open(url);
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  server.kill();
  EXPECT_THAT(told(client.mutex("x", kLong).try_acquire()), Not(HasSubstr("pa55w0rd")));
}

// A client that was turned away once is not turned away for ever.
TEST(RedisLogin, AClientComesInOnceItsPasswordIsAccepted) {
  RedisServer server({.password = "old"});
  Client client = open(url_for(server, ":new"));
  Mutex mutex = client.mutex("x", kLong);
  ASSERT_THAT(told(mutex.try_acquire()), HasSubstr("misconfigured"));
  ASSERT_THAT(told(mutex.try_acquire()), HasSubstr("misconfigured"));
  ASSERT_EQ(server.command({"CONFIG", "SET", "requirepass", "new"}), "OK");
  EXPECT_EQ(told(mutex.try_acquire()), "granted");
}

TEST(RedisLogin, AServerThatWasSilentDuringTheLoginIsUsedWhenItSpeaks) {
  RedisServer server;
  Client client = open(url_for(server, "", "?connect_timeout_ms=200"));
  Mutex mutex = client.mutex("x", kLong);
  server.pause();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(told(mutex.try_acquire()), HasSubstr("unreachable"));
  }
  server.resume();
  EXPECT_EQ(told(mutex.try_acquire_for(10s)), "granted");
}

// ---- Users and their rights --------------------------------------------------------------------

// All that a user of locks needs (docs/engines/redis.md).
const std::vector<std::string> kRights{"~*",
                                       "&holdfast:*",
                                       "&__redis__:invalidate",
                                       "+eval",
                                       "+evalsha",
                                       "+script|load",
                                       "+time",
                                       "+get",
                                       "+set",
                                       "+del",
                                       "+exists",
                                       "+incr",
                                       "+pexpire",
                                       "+pttl",
                                       "+hget",
                                       "+hset",
                                       "+hdel",
                                       "+hexists",
                                       "+hgetall",
                                       "+zadd",
                                       "+zrem",
                                       "+zpopmin",
                                       "+zcard",
                                       "+zrank",
                                       "+zrange",
                                       "+zrevrange",
                                       "+zrangebyscore",
                                       "+zremrangebyscore",
                                       "+subscribe",
                                       "+publish",
                                       "+pubsub|numsub",
                                       "+ping",
                                       "+scan"};

void make_user(RedisServer& server, std::vector<std::string> rules,
               const std::string& without = "") {
  std::vector<std::string> command{"ACL", "SETUSER", "locker", "reset", "on", ">pw"};
  std::erase(rules, without);
  command.insert(command.end(), rules.begin(), rules.end());
  ASSERT_EQ(server.command(command), "OK");
}

// Every kind of operation, once. What went wrong first, or "all".
std::string everything_works(const std::string& url) {
  Client holder = open(url);
  Client other = open(url);
  std::stop_source over;
  Pending waiting;
  const auto check = [](const auto& result) {
    if (!result) throw LockError(result.failure());
  };
  try {
    for (int round = 0; round < 2; ++round) {
      Result<Lease> lease = holder.mutex("x", kLong).try_acquire();
      check(lease);
      check(lease->renew());
      waiting =
          in_thread([&] { return other.mutex("x", kLong).try_acquire_for(20s, over.get_token()); });
      const auto waits = [&] { return holder.inspect("x").value().waiters.size() == 1; };
      if (!eventually([&] { return waits() || contract::is_ready(waiting); })) {
        return "nobody waits";
      }
      check(holder.list());
      check(lease->release());
      Result<Lease> second = waiting.get();
      check(second);
      check(holder.evict("x", second->token()));
    }
    std::vector<Lease> readers;
    for (Client* client : {&holder, &other}) {
      Result<Lease> reader = client->shared_mutex("s", kLong).try_acquire_shared();
      check(reader);
      check(reader->renew());
      readers.push_back(std::move(*reader));
    }
    for (Lease& reader : readers) check(reader.release());
    Result<Lease> lasting = other.semaphore("p", 2, kLong).acquire();
    check(lasting);
    Result<Lease> permit = holder.semaphore("p", 2, {.ttl = 40ms, .auto_renew = false}).acquire();
    check(permit);
    check(holder.semaphore("p", 1, kLong).try_acquire_for(0ms).code() == Code::invalid_argument
              ? Result<void>()
              : Failure(Code::unknown, "permits are not compared"));
    pause_for(60ms);
    check(other.semaphore("p", 2, kLong).acquire());
  } catch (const LockError& error) {
    over.request_stop();
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "all";
}

TEST(RedisLogin, AUserWithTheDocumentedRightsCanDoEverything) {
  RedisServer server;
  make_user(server, kRights);
  EXPECT_EQ(everything_works(url_for(server, "locker:pw")), "all")
      << server.command({"ACL", "LOG"});
}

TEST(RedisLogin, AUserWithoutRightsToInfoAndClientCanDoEverything) {
  RedisServer server;
  std::vector<std::string> rules{"~*", "&*", "+@all", "-client", "-info"};
  make_user(server, rules);
  EXPECT_EQ(everything_works(url_for(server, "locker:pw")), "all");
}

TEST(RedisLogin, EveryRightThatIsMissingIsSaid) {
  RedisServer server;
  int needed = 0;
  for (const std::string& right : kRights) {
    if (right == "+ping") continue;                  // any answer to it will do
    if (right == "+script|load") continue;           // the whole text is sent each time instead
    if (right == "&__redis__:invalidate") continue;  // foreign locks are polled instead
    server.command({"FLUSHALL"});
    make_user(server, kRights, right);
    const BootTime begun = BootClock::now();
    const std::string said = everything_works(url_for(server, "locker:pw"));
    EXPECT_LT(since(begun), 3s) << right;
    EXPECT_THAT(said, testing::ContainsRegex("misconfigured.*lacks rights")) << right;
    ++needed;
  }
  EXPECT_GT(needed, 20);
}

// ---- Databases, sockets, names -----------------------------------------------------------------

TEST(RedisLogin, ADatabaseThatIsNotThereIsSaid) {
  RedisServer server;
  const std::string said = try_at(url_for(server, "", "/16"));
  EXPECT_THAT(said, HasSubstr("misconfigured"));
  EXPECT_THAT(said, HasSubstr("no such database"));
}

TEST(RedisLogin, DatabasesAndPrefixesAreSeparate) {
  RedisServer server;
  std::vector<Client> clients;
  std::vector<Lease> leases;
  for (const std::string rest : {"", "/7", "/8", "?prefix=a:", "?prefix=b:", "/7?prefix=a:"}) {
    clients.push_back(open(url_for(server, "", rest)));
    Result<Lease> lease = clients.back().mutex("x", kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted") << rest;
    leases.push_back(std::move(*lease));
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const auto seen = clients[i].list().value();
    // The one without a prefix sees what the others of its database call "a:x" and "b:x" as well.
    const std::size_t expected = i == 0 ? 3 : i == 1 ? 2 : 1;
    ASSERT_EQ(seen.size(), expected) << i;
    const auto mine = clients[i].inspect("x").value();
    ASSERT_EQ(mine.holders.size(), 1U);
    EXPECT_EQ(mine.holders.front().token, leases[i].token());
  }
  EXPECT_EQ(server.command({"EXISTS", "x", "a:x", "b:x"}), "3");
  Client waiter = open(url_for(server, "", "/7"));
  Pending waiting = in_thread([&] { return waiter.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(clients[1], "x") == 1; }));
  ASSERT_TRUE(leases[1].release());
  EXPECT_EQ(told(waiting.get()), "granted");
}

TEST(RedisLogin, ConnectionsAreNamed) {
  RedisServer server;
  Client usual = open(url_for(server));
  Client named = open(url_for(server, "", "?client_name=till-7"));
  ASSERT_TRUE(usual.mutex("x", kLong).try_acquire());
  ASSERT_TRUE(named.mutex("x", kLong).try_acquire());
  const std::string clients = server.command({"CLIENT", "LIST"});
  EXPECT_THAT(clients, HasSubstr("name=holdfast "));
  EXPECT_THAT(clients, HasSubstr("name=till-7 "));
}

TEST(RedisLogin, AUnixSocketWorksWithAPasswordAndADatabase) {
  RedisServer server({.password = "pw", .unix_socket = true});
  EXPECT_EQ(everything_works("redis://:pw@/3?socket=" + server.unix_path()), "all");
  const std::string said = try_at("redis://:pw@/3?socket=/no/such/file");
  EXPECT_THAT(said, HasSubstr("unreachable"));
  EXPECT_THAT(said, HasSubstr("/no/such/file"));
}

}  // namespace
}  // namespace holdfast::redis_tests
