// The observer hears of Redis servers that change places, refuse, or say too much.
#include "server_events.h"

#include "redis_cluster.h"
#include "redis_replication.h"
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

using contract::broken_promise;
using contract::ServerEvents;
using testing::Contains;
using testing::ElementsAre;

std::string address_of(const RedisServer& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

bool use_until(Client& client, const std::function<bool()>& condition) {
  return eventually([&] {
    static_cast<void>(client.mutex("x", kLong).try_acquire());
    return condition();
  });
}

// It does not know AUTH, and repeats what it was given.
TEST(RedisServerEvents, AServerThatRepeatsThePasswordDoesNotGiveItAway) {
  RedisServer server({.arguments = {"--rename-command", "AUTH", ""}});
  const auto events = std::make_shared<ServerEvents>();
  const std::string url = "redis://:pa55w0rd@" + address_of(server);
  Result<Client> client = Client::open(url, {.observer = events});
  const std::string said = client ? told(client->mutex("x", kLong).try_acquire()) : told(client);
  EXPECT_THAT(said, HasSubstr("AUTH"));
  EXPECT_THAT(said, Not(HasSubstr("pa55w0rd")));
  EXPECT_GE(events->count(ServerEventKind::connect_failed), 1u);
  EXPECT_THAT(events->text(), Not(HasSubstr("pa55w0rd")));
  EXPECT_EQ(broken_promise(*events), "");
}

TEST(RedisServerEvents, AServerWithoutMemoryIsToldAboutAndABusyLockIsNot) {
  RedisServer server;
  const auto events = std::make_shared<ServerEvents>();
  Client client = Client::open(server.url(), {.observer = events}).value();
  {
    const Result<Lease> held = client.mutex("x", kLong).acquire();
    EXPECT_FALSE(client.mutex("x", kLong).try_acquire());
  }
  EXPECT_THAT(events->by_server()[address_of(server)], ElementsAre("connected"));
  ASSERT_EQ(server.command({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  EXPECT_FALSE(client.mutex("x", kLong).try_acquire());
  EXPECT_THAT(events->by_server()[address_of(server)], ElementsAre("connected", "error"));
  EXPECT_THAT(events->text(), HasSubstr("out of memory"));
}

TEST(RedisServerEvents, AFailoverIsTheEndOfOneServerAndTheBeginningOfAnother) {
  test::RedisWithSentinels servers;
  const auto events = std::make_shared<ServerEvents>();
  Client client = Client::open(servers.url(), {.observer = events}).value();
  ASSERT_TRUE(client.mutex("x", kLong).try_acquire());
  const int former = servers.kill_master();
  const int master = servers.wait_for_another_master(former);
  const std::string before = address_of(servers.server(former));
  const std::string after = address_of(servers.server(master));
  // The sentinels may name it once more while it is being connected to; then that begins anew.
  const auto works = [&] {
    return std::ranges::count(events->by_server()[after], "connected") > 0;
  };
  EXPECT_TRUE(use_until(client, works)) << events->text();
  const std::vector<std::string> of_former = events->by_server()[before];
  ASSERT_GE(of_former.size(), 2u) << events->text();
  EXPECT_EQ(of_former[0], "connected");
  EXPECT_EQ(of_former[1], "disconnected");
  // Sentinels are servers, too.
  EXPECT_GE(events->by_server().size(), 3u) << events->text();
  EXPECT_EQ(broken_promise(*events), "");
}

TEST(RedisServerEvents, ANodeOfAClusterThatDiesIsToldAbout) {
  test::RedisCluster cluster;
  const auto events = std::make_shared<ServerEvents>();
  Client client = Client::open(cluster.url(), {.observer = events}).value();
  const auto use = [&] {
    for (int i = 0; i < 20; ++i) {
      static_cast<void>(client.mutex("x" + std::to_string(i), kLong).try_acquire_for(10s));
    }
  };
  use();
  const int victim = cluster.kill_master_of(0);
  EXPECT_TRUE(eventually([&] {
    use();
    return events->count(ServerEventKind::disconnected) > 0;
  }));
  EXPECT_THAT(events->by_server()[address_of(cluster.node(victim))], Contains("disconnected"));
  EXPECT_EQ(broken_promise(*events), "") << events->text();
}

}  // namespace
}  // namespace holdfast::redis_tests
