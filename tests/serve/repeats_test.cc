// Requests with an Idempotency-Key: a client that got no answer asks again, and holds once.
#include <gtest/gtest.h>

#include <chrono>

#include "engines.h"
#include "proxy.h"

namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

Ask with_key(Ask ask, const std::string& key) {
  ask.headers["Idempotency-Key"] = key;
  return ask;
}

class RepeatsTest : public EngineTest {
 protected:
  static Ask keyed(const std::string& name, const Json& body = Json::object()) {
    return with_key(acquiring(name, body), "0123456789abcdef-1");
  }
};

TEST_P(RepeatsTest, TheSameRequestTwiceHoldsOnce) {
  const Daemon daemon = serve();
  const Answer first = daemon.ask(keyed("x"));
  const Answer second = daemon.ask(keyed("x"));
  ASSERT_EQ(first.status, 200) << first.body;
  ASSERT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(first.json()["lease"], second.json()["lease"]);
  EXPECT_LE(second.json()["valid_for_ms"], first.json()["valid_for_ms"]);
  EXPECT_EQ(holders_of(daemon, "x"), 1U);
}

TEST_P(RepeatsTest, TheSameRequestAtTheSameTimeHoldsOnce) {
  const Daemon daemon = serve();
  const Json permits = {{"mode", "permit"}, {"permits", 5}, {"wait_ms", 1000}};
  std::vector<HttpClient> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(daemon.begin(keyed("x", permits)));
  std::set<std::string> leases;
  for (HttpClient& client : clients)
    leases.insert(client.answer().json()["lease"].get<std::string>());
  EXPECT_EQ(leases.size(), 1U);
  EXPECT_EQ(holders_of(daemon, "x"), 1U);
}

TEST_P(RepeatsTest, TheNextDaemonKnowsTheHold) {
  for (const char* mode : {"exclusive", "shared"}) {
    const std::string name = mode;
    Daemon first = serve();
    const Answer taken = first.ask(keyed(name, {{"mode", mode}, {"ttl_ms", 60'000}}));
    ASSERT_EQ(taken.status, 200) << taken.body;
    first.process().kill(SIGKILL);
    first.process().wait();
    const Daemon second = serve();
    const Answer again = second.ask(keyed(name, {{"mode", mode}, {"ttl_ms", 60'000}}));
    ASSERT_EQ(again.status, 200) << again.body;
    EXPECT_EQ(again.json()["lease"], taken.json()["lease"]);
    EXPECT_LE(again.json()["valid_for_ms"], 60'000);
    EXPECT_EQ(holders_of(second, name), 1U);
    EXPECT_EQ(second.post("/v1/release", {{"lease", taken.json()["lease"]}}).status, 200);
    EXPECT_TRUE(becomes_free(second, name));
  }
}

TEST_P(RepeatsTest, ASecondDaemonKnowsTheHoldThatWasWaitedFor) {
  const Daemon first = serve();
  const Daemon second = serve();
  const Json blocker = first.post("/v1/locks/x", Json::object()).json();
  HttpClient waiting = first.begin(keyed("x", {{"wait_ms", 60'000}}));
  ASSERT_TRUE(eventually([&] { return waiters_of(first, "x") == 1; }));
  ASSERT_EQ(first.post("/v1/release", {{"lease", blocker["lease"]}}).status, 200);
  const Json granted = waiting.answer().json();
  const Answer again = second.ask(keyed("x", {{"wait_ms", 60'000}}));
  ASSERT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.json()["lease"], granted["lease"]);
}

// The client was cut off from the first daemon, and asks the second one, while the first one still withdraws.
TEST_P(RepeatsTest, AWithdrawalAtOneDaemonDoesNotEndTheHoldOfAnother) {
  const Daemon first = serve();
  const Daemon second = serve();
  // Where the first daemon is granted the lock before it hears that its client has gone, it keeps it for one that asks
  // again there, and the second one waits until it has ended.
  const Json fields = {{"wait_ms", 60'000}, {"ttl_ms", 10'000}};
  for (int round = 0; round < 6; ++round) {
    const std::string key = "0123456789abcdef-" + std::to_string(round);
    const Json blocker = first.post("/v1/locks/x", Json::object()).json();
    ASSERT_TRUE(blocker.contains("lease")) << blocker;
    HttpClient gone = first.begin(with_key(acquiring("x", fields), key));
    ASSERT_TRUE(eventually([&] { return waiters_of(first, "x") == 1; }));
    HttpClient again = second.begin(with_key(acquiring("x", fields), key));
    ASSERT_TRUE(eventually([&] { return waiters_of(first, "x") >= 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * round));
    gone.reset();
    ASSERT_EQ(first.post("/v1/release", {{"lease", blocker["lease"]}}).status, 200);
    const Answer granted = again.answer();
    ASSERT_EQ(granted.status, 200) << granted.body;
    ASSERT_TRUE(eventually([&] { return waiters_of(first, "x") == 0; }));
    EXPECT_EQ(lock_at(first, "x")["holders"].size(), 1U);
    const Answer renewed = second.post("/v1/renew", {{"lease", granted.json()["lease"]}});
    EXPECT_EQ(renewed.status, 200) << "held by nobody, or by another: " << renewed.body;
    EXPECT_EQ(second.post("/v1/release", {{"lease", granted.json()["lease"]}}).status, 200);
    ASSERT_TRUE(becomes_free(first, "x"));
  }
}

TEST_P(RepeatsTest, ACancelledAttemptIsRepeatedAndHoldsOnce) {
  const Daemon daemon = serve();
  const Json blocker = daemon.post("/v1/locks/x", Json::object()).json();
  HttpClient gone = daemon.begin(keyed("x", {{"wait_ms", 60'000}}));
  ASSERT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 1; }));
  gone.reset();
  // At once: the withdrawal may be under way.
  HttpClient again = daemon.begin(keyed("x", {{"wait_ms", 60'000}}));
  ASSERT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 1; }));
  ASSERT_EQ(daemon.post("/v1/release", {{"lease", blocker["lease"]}}).status, 200);
  const Answer granted = again.answer();
  ASSERT_EQ(granted.status, 200) << granted.body;
  EXPECT_EQ(daemon.post("/v1/renew", {{"lease", granted.json()["lease"]}}).status, 200);
  EXPECT_EQ(holders_of(daemon, "x"), 1U);
}

HOLDFAST_ON_ENGINES(RepeatsTest);

class KeyTest : public DaemonTest {};

TEST_F(KeyTest, IsForOneRequestOnly) {
  const Daemon daemon = serve();
  const std::string key = "0123456789abcdef";
  ASSERT_EQ(daemon.ask(with_key(acquiring("x"), key)).status, 200);
  const Answer other = daemon.ask(with_key(acquiring("x", {{"ttl_ms", 1234}}), key));
  EXPECT_EQ(other.status, 422) << other.body;
  EXPECT_EQ(other.json()["code"], "key_reused");
  EXPECT_EQ(daemon.ask(with_key(acquiring("y"), key)).status, 422);
  EXPECT_EQ(holders_of(daemon, "y"), 0U);
}

TEST_F(KeyTest, OfAReleasedLeaseIsGone) {
  const Daemon daemon = serve();
  const std::string key = "0123456789abcdef";
  const Json lease = daemon.ask(with_key(acquiring("x"), key)).json();
  ASSERT_EQ(daemon.post("/v1/release", {{"lease", lease["lease"]}}).status, 200);
  EXPECT_EQ(daemon.ask(with_key(acquiring("x"), key)).status, 410);
  EXPECT_EQ(holders_of(daemon, "x"), 0U);
}

TEST_F(KeyTest, OfABusyRequestCanBeUsedAgain) {
  const Daemon daemon = serve();
  const std::string key = "0123456789abcdef";
  const Json lease = daemon.post("/v1/locks/x", Json::object()).json();
  EXPECT_EQ(daemon.ask(with_key(acquiring("x"), key)).status, 409);
  ASSERT_EQ(daemon.post("/v1/release", {{"lease", lease["lease"]}}).status, 200);
  EXPECT_EQ(daemon.ask(with_key(acquiring("x"), key)).status, 200);
}

TEST_F(KeyTest, MustBeOne) {
  const Daemon daemon = serve();
  for (const std::string key : {"short", "with spaces in the middle of it", ""}) {
    EXPECT_EQ(daemon.ask(with_key(acquiring("x"), key)).status, 400) << key;
  }
  EXPECT_EQ(daemon.ask(with_key(acquiring("x"), std::string(201, 'k'))).status, 400);
  EXPECT_EQ(daemon.ask(with_key(holding("x"), std::string(20, 'k'))).status, 400);
  EXPECT_EQ(holders_of(daemon, "x"), 0U);
}

// One of several that wait with the same key leaves: the others stay. All leave: nothing stays.
TEST_F(KeyTest, IsWaitedForAsLongAsAnybodyAsks) {
  const Daemon daemon = serve();
  const std::string key = "0123456789abcdef";
  const Json blocker = daemon.post("/v1/locks/x", {{"ttl_ms", 600'000}}).json();
  std::vector<HttpClient> clients;
  for (int i = 0; i < 3; ++i)
    clients.push_back(daemon.begin(with_key(acquiring("x", {{"wait_ms", 300'000}}), key)));
  ASSERT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 1; }));
  ASSERT_TRUE(eventually(
      [&] { return daemon.get("/metrics").body.find("connections 4\n") != std::string::npos; }));
  clients[2].reset();
  clients[1].reset();
  ASSERT_TRUE(eventually([&] {
    return daemon.get("/metrics").body.find("connections 2\n") != std::string::npos;
  })) << daemon.get("/metrics").body;
  EXPECT_EQ(waiters_of(daemon, "x"), 1U);
  clients[0].reset();
  EXPECT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 0; }));
}

// The reply of the engine is lost, and so is the outcome: asked again, it is the same hold or none.
TEST_F(KeyTest, AnUnknownOutcomeIsAskedForAgain) {
  const RedisServer redis;
  Proxy proxy(redis.port());
  const Daemon daemon({"--on", "redis://127.0.0.1:" + std::to_string(proxy.port())});
  const Daemon other({"--on", redis.url()});
  ASSERT_EQ(daemon.get("/v1/locks/x").status, 200);
  const Ask ask = with_key(acquiring("x", {{"ttl_ms", 600'000}}), "0123456789abcdef");
  proxy.set(Direction::to_client, ProxyMode::drop);
  HttpClient first = daemon.begin(ask);
  ASSERT_TRUE(eventually([&] { return holders_of(other, "x") == 1; }));
  proxy.reset();
  const Answer unknown = first.answer();
  EXPECT_GE(unknown.status, 500) << unknown.body;
  proxy.set_both(ProxyMode::pass);
  Answer again;
  ASSERT_TRUE(eventually([&] { return (again = daemon.ask(ask)).status == 200; })) << again.body;
  EXPECT_EQ(holders_of(other, "x"), 1U);
  EXPECT_EQ(lock_at(other, "x")["holders"][0]["token"], again.json()["token"]);
}

}  // namespace
}  // namespace holdfast::test
