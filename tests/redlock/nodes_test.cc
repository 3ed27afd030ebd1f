// Servers that can be a node: independent masters, each once, and the same ones for all clients. Anybody
// else is named and has no vote; while a majority is fit, the lock works.
#include "impostor.h"
#include "redis_sentinel.h"
#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

// ---- Each once ---------------------------------------------------------------------------------

TEST(RedlockNodes, OneServerUnderTwoNamesIsFound) {
  RedisMasters masters({.count = 2});
  const std::string first = std::to_string(masters.at(0).port());
  const std::string second = std::to_string(masters.at(1).port());
  const std::string said =
      try_at("redlock://127.0.0.1:" + first + ",localhost:" + first + ",127.0.0.1:" + second);
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("127.0.0.1:" + first));
  EXPECT_THAT(said, HasSubstr("localhost:" + first));
  EXPECT_THAT(said, HasSubstr("are the same Redis server"));
  EXPECT_EQ(masters.at(0).command({"EXISTS", kWord}), "0") << "its votes were not given back";
}

TEST(RedlockNodes, OneServerBehindAProxyIsFound) {
  RedisMasters masters({.count = 2});
  Proxy proxy(masters.at(0).port());
  const std::string said =
      try_at(url_of({masters.at(0).port(), masters.at(1).port(), proxy.port()}));
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("are the same Redis server"));
}

// ---- Masters, and independent ------------------------------------------------------------------

// Two masters and something else.
class RedlockWith : public testing::Test {
 protected:
  void expect_named(int port, const std::string& why) {
    const std::string url = url_of({masters_.at(0).port(), port});
    const std::string said = try_at(url);
    EXPECT_THAT(said, StartsWith("misconfigured"));
    EXPECT_THAT(said, HasSubstr("127.0.0.1:" + std::to_string(port)));
    EXPECT_THAT(said, HasSubstr(why));
  }
  // In use already; `port` was a master then.
  void expect_majority_works(int port) {
    Client client = open(url_of({masters_.at(0).port(), port, masters_.at(1).port()}));
    EXPECT_EQ(told(client.mutex("y", kLong).try_acquire()), "granted");
    EXPECT_EQ(told(client.mutex("y", kLong).try_acquire_for(1s)), "granted");
    // One less, and it is not enough.
    masters_.at(1).kill();
    const std::string said = told(client.mutex("z", kLong).try_acquire());
    EXPECT_THAT(said, Not(HasSubstr("granted")));
  }

  void expect_named_among_three(int port) {
    const std::string said = try_at(url_of({masters_.at(0).port(), port, masters_.at(1).port()}));
    EXPECT_THAT(said, Not(HasSubstr("granted")));
    EXPECT_THAT(said, HasSubstr("all of them must be there"));
    EXPECT_THAT(said, HasSubstr("127.0.0.1:" + std::to_string(port)));
  }

  RedisMasters masters_{{.count = 2}};
};

TEST_F(RedlockWith, AReplicaIsNamedAndHasNoVote) {
  RedisServer replica({.arguments = {"--repl-diskless-sync", "no"}});
  replica.command({"REPLICAOF", "127.0.0.1", std::to_string(masters_.at(0).port())});
  ASSERT_TRUE(eventually([&] {
    return replica.command({"INFO", "replication"}).find("role:slave") != std::string::npos;
  }));
  expect_named(replica.port(), "not a master; Redlock needs independent masters");
}

TEST_F(RedlockWith, ASentinelIsNamedAndHasNoVote) {
  test::RedisSentinel sentinel(
      {.master_name = "m", .master_port = masters_.at(0).port(), .quorum = 1});
  expect_named(sentinel.port(), "it is a sentinel");
}

TEST_F(RedlockWith, ANodeOfAClusterIsNamedAndHasNoVote) {
  RedisServer node({.arguments = {"--cluster-enabled", "yes"}});
  expect_named(node.port(), "it is a node of a cluster; Redlock needs independent masters");
}

TEST_F(RedlockWith, AReplicaAmongThemDoesNotKeepTheMajorityFromVoting) {
  RedisServer replica({.arguments = {"--repl-diskless-sync", "no"}});
  const std::string url = url_of({masters_.at(0).port(), replica.port(), masters_.at(1).port()});
  ASSERT_EQ(try_at(url), "granted");
  replica.command({"REPLICAOF", "127.0.0.1", std::to_string(masters_.at(0).port())});
  expect_majority_works(replica.port());
}

TEST_F(RedlockWith, AClusterNodeAmongThemIsNamedAtTheFirstUse) {
  RedisServer node({.arguments = {"--cluster-enabled", "yes"}});
  expect_named_among_three(node.port());
}

TEST_F(RedlockWith, SomethingElseAmongThemIsNamedAtTheFirstUse) {
  Impostor impostor("HTTP/1.1 400 Bad Request\r\n\r\n");
  expect_named_among_three(impostor.port());
}

TEST_F(RedlockWith, SomethingElseIsNamedIfNoMajorityIsLeft) {
  for (const char* answer : {"HTTP/1.1 400 Bad Request\r\n\r\n", "", "+OK\r\n", "*1\r\n"}) {
    Impostor impostor(answer);
    const std::string said = try_at(url_of({masters_.at(0).port(), impostor.port()}));
    EXPECT_THAT(said, AnyOf(StartsWith("unreachable"), StartsWith("misconfigured"))) << answer;
    EXPECT_THAT(said, HasSubstr("127.0.0.1:" + std::to_string(impostor.port()))) << answer;
  }
}

TEST_F(RedlockWith, AServerThatSpeaksTlsIsNamedIfNoMajorityIsLeft) {
  RedisServer encrypted({.tls = true});
  const std::string said = try_at(url_of({masters_.at(0).port(), encrypted.port()}));
  EXPECT_THAT(said, AnyOf(StartsWith("unreachable"), StartsWith("misconfigured")));
  EXPECT_THAT(said, HasSubstr("127.0.0.1:" + std::to_string(encrypted.port())));
}

// A master that becomes a replica while the client is connected.
TEST_F(RedlockWith, AMasterThatBecomesAReplicaLosesItsVote) {
  RedisServer third({.arguments = {"--repl-diskless-sync", "no"}});
  Client client = open(url_of({masters_.at(0).port(), masters_.at(1).port(), third.port()}));
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  third.command({"REPLICAOF", "127.0.0.1", std::to_string(masters_.at(0).port())});
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(1s)), "granted");
  masters_.at(1).kill();
  EXPECT_THAT(told(client.mutex("y", kLong).try_acquire()), Not(HasSubstr("granted")));
}

// ---- The same for all clients ------------------------------------------------------------------

TEST(RedlockNodes, AnotherNumberOfNodesIsRefused) {
  RedisMasters masters({.count = 5});
  std::vector<int> ports;
  for (std::size_t i = 0; i < 5; ++i) ports.push_back(masters.at(i).port());
  const std::vector<int> three(ports.begin(), ports.begin() + 3);
  ASSERT_EQ(try_at(url_of(three)), "granted");
  const std::string said = try_at(url_of(ports));
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("belongs to a Redlock of 3 nodes, and the URL names 5"));
  EXPECT_THAT(said, HasSubstr("delete the key holdfast:redlock"));
  EXPECT_EQ(try_at(url_of(three)), "granted") << "those who were right are not disturbed";
  // The advice of the message helps.
  for (std::size_t i = 0; i < 5; ++i) masters.at(i).command({"DEL", kMarker});
  EXPECT_EQ(try_at(url_of(ports)), "granted");
  EXPECT_THAT(try_at(url_of(three)), HasSubstr("Redlock of 5 nodes, and the URL names 3"));
}

TEST(RedlockNodes, AMarkerThatIsSomethingElseIsNamed) {
  for (const bool text : {true, false}) {
    RedisMasters masters({.count = 3});
    for (std::size_t i = 0; i < 3; ++i) {
      masters.at(i).command(text ? std::vector<std::string>{"SET", kMarker, "mine"}
                                 : std::vector<std::string>{"LPUSH", kMarker, "mine"});
    }
    const std::string said = try_at(masters.url());
    EXPECT_THAT(said, StartsWith("misconfigured"));
    EXPECT_THAT(said, HasSubstr(text ? "the key holdfast:redlock holds something else"
                                     : "a key of another type"));
  }
}

TEST(RedlockNodes, AServerThatMayEvictLocksIsWarnedOf) {
  RedisMasters masters({.count = 3});
  masters.at(1).command({"CONFIG", "SET", "maxmemory", "100mb"});
  masters.at(1).command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  auto listener = std::make_shared<Listener>();
  Client client = open(masters.url(), {.observer = listener});
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  EXPECT_TRUE(eventually([&] { return !listener->warnings().empty(); }));
  EXPECT_THAT(listener->warnings(), Contains(HasSubstr("maxmemory-policy allkeys-lru")));
}

}  // namespace
}  // namespace holdfast::redlock_tests
