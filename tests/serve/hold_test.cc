// Locks that end with their connection.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "engines.h"
#include "proxy.h"

namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

class HoldTest : public EngineTest {};

TEST_P(HoldTest, EndsWithTheConnectionHoweverThatEnds) {
  const Daemon daemon = serve();
  enum class End { fin, reset, half };
  for (const End end : {End::fin, End::reset, End::half}) {
    HttpClient holder = daemon.begin(holding("x", {{"ttl_ms", 120'000}}));
    const Json granted = holder.event("granted");
    ASSERT_TRUE(granted.contains("token")) << granted;
    EXPECT_LE(granted["valid_for_ms"], 120'000);
    EXPECT_EQ(daemon.post("/v1/locks/x", Json::object()).status, 409);
    if (end == End::fin) holder.close();
    if (end == End::reset) holder.reset();
    if (end == End::half) holder.end_sending();
    EXPECT_TRUE(becomes_free(daemon, "x"));
  }
}

TEST_P(HoldTest, IsRenewedAsLongAsTheConnectionLives) {
  const Daemon daemon = serve();
  HttpClient holder = daemon.begin(holding("x", {{"ttl_ms", 1500}}));
  const Json granted = holder.event("granted");
  const auto until = Clock::now() + std::chrono::seconds(4);
  while (Clock::now() < until) {
    const Json renewed = holder.event("renewed");
    ASSERT_TRUE(renewed.contains("valid_for_ms"));
    EXPECT_LE(renewed["valid_for_ms"], 1500);
  }
  EXPECT_EQ(lock_at(daemon, "x")["holders"][0]["token"], granted["token"]);
}

TEST_P(HoldTest, IsToldWhenTheLockIsTakenAway) {
  const Daemon daemon = serve();
  HttpClient holder = daemon.begin(holding("x", {{"ttl_ms", 2000}}));
  const Json granted = holder.event("granted");
  ASSERT_EQ(
      daemon.post("/v1/locks/x/break", {{"token", granted["token"]}, {"reason", "test"}}).status,
      200);
  const Json lost = holder.event("lost");
  EXPECT_EQ(lost["code"], "not_held") << lost;
  EXPECT_TRUE(holder.ended());
}

TEST_P(HoldTest, AClientThatLeavesTheQueueLeavesNothingBehind) {
  const Daemon daemon = serve();
  HttpClient holder = daemon.begin(holding("x"));
  ASSERT_TRUE(holder.event("granted").contains("token"));
  HttpClient second = daemon.begin(holding("x", {{"wait_ms", 300'000}}));
  HttpClient third = daemon.begin(holding("x", {{"wait_ms", 300'000}}));
  ASSERT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 2; }));
  second.reset();
  EXPECT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 1; }));
  holder.reset();
  EXPECT_TRUE(third.event("granted").contains("token"));
  third.close();
  EXPECT_TRUE(becomes_free(daemon, "x"));
}

TEST_P(HoldTest, AtTheEndOfTheDaemonItIsGivenBack) {
  Daemon first = serve();
  const Daemon second = serve();
  HttpClient holder = first.begin(holding("x", {{"ttl_ms", 600'000}}));
  ASSERT_TRUE(holder.event("granted").contains("token"));
  HttpClient waiting = second.begin(acquiring("x", {{"wait_ms", 60'000}}));
  ASSERT_TRUE(eventually([&] { return waiters_of(second, "x") == 1; }));
  first.process().kill(SIGTERM);
  EXPECT_TRUE(holder.ended());
  holder.close();  // A client that is cut off cannot: see HoldFaultTest.
  EXPECT_EQ(waiting.answer().status, 200);
  EXPECT_EQ(first.process().wait().status, 0);
}

HOLDFAST_ON_ENGINES(HoldTest);

class HoldFaultTest : public DaemonTest {};

// Two faults at once: its client is cut off without a word, and the daemon ends.
TEST_F(HoldFaultTest, AClientThatDoesNotHearOfTheEndKeepsTheLock) {
  Daemon first = serve();
  const Daemon second = serve();
  HttpClient holder = first.begin(holding("x", {{"ttl_ms", 600'000}}));
  ASSERT_TRUE(holder.event("granted").contains("token"));
  first.process().kill(SIGTERM);
  EXPECT_EQ(first.process().wait().status, 0);
  EXPECT_EQ(second.post("/v1/locks/x", Json::object()).status, 409);
}

TEST_F(HoldFaultTest, TheLossIsToldBeforeTheValidityEnds) {
  const RedisServer redis;
  Proxy proxy(redis.port());
  const Daemon daemon({"--on", "redis://127.0.0.1:" + std::to_string(proxy.port())});
  HttpClient holder = daemon.begin(holding("x", {{"ttl_ms", 4000}}));
  const Json granted = holder.event("granted");
  ASSERT_TRUE(granted.contains("token")) << granted;
  ASSERT_TRUE(holder.event("renewed").contains("valid_for_ms"));
  proxy.silence(true);
  // The last renewal was sent before this.
  const auto valid_until = Clock::now() + std::chrono::milliseconds(4000);
  const Json lost = holder.event("lost");
  EXPECT_EQ(lost["code"], "not_held") << lost;
  EXPECT_LT(Clock::now(), valid_until);
  EXPECT_TRUE(holder.ended());
}

TEST_F(HoldFaultTest, NoAnswerClaimsMoreThanIsLeft) {
  const RedisServer redis;
  Proxy proxy(redis.port());
  proxy.set(Direction::to_client, ProxyMode::delay, std::chrono::milliseconds(700));
  const Daemon daemon({"--on", "redis://127.0.0.1:" + std::to_string(proxy.port())});
  const auto begun = Clock::now();
  const Answer taken = daemon.post("/v1/locks/x", {{"ttl_ms", 10'000}});
  ASSERT_EQ(taken.status, 200) << taken.body;
  // The reply of the engine took 700 ms: they are gone.
  EXPECT_LE(taken.json()["valid_for_ms"], 9'300);
  const Answer renewed = daemon.post("/v1/renew", {{"lease", taken.json()["lease"]}});
  EXPECT_LE(renewed.json()["valid_for_ms"], 9'300) << renewed.body;
  EXPECT_GT(Clock::now() - begun, std::chrono::milliseconds(1400));
}

// The grant is under way when the client goes: the daemon gives it back.
TEST_F(HoldFaultTest, AGrantToAClientThatHasGoneIsGivenBack) {
  const RedisServer redis;
  Proxy proxy(redis.port());
  const Daemon daemon({"--on", "redis://127.0.0.1:" + std::to_string(proxy.port())});
  const Daemon other({"--on", redis.url()});
  ASSERT_EQ(daemon.get("/v1/locks/warm").status, 200);
  for (const bool hold : {false, true}) {
    proxy.set(Direction::to_client, ProxyMode::hold);
    const Json long_lasting = {{"ttl_ms", 600'000}};
    HttpClient client =
        daemon.begin(hold ? holding("x", long_lasting) : acquiring("x", long_lasting));
    ASSERT_TRUE(eventually([&] { return holders_of(other, "x") == 1; }));
    client.reset();
    // The daemon must have heard it before the reply comes: it answers a request that was sent later.
    ASSERT_EQ(daemon.get("/healthz").status, 200);
    proxy.set(Direction::to_client, ProxyMode::pass);
    EXPECT_TRUE(becomes_free(other, "x"));
  }
}

}  // namespace
}  // namespace holdfast::test
