// Engines that do not answer, daemons that are killed, and two of them on one engine.
#include <gtest/gtest.h>

#include <chrono>

#include "daemon_fixture.h"
#include "proxy.h"
#include "redis_server.h"

namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

class EnginesDownTest : public DaemonTest {
 protected:
  static Json engine(const Daemon& daemon, const std::string& name) {
    const Json all = daemon.get("/v1/engines").json();
    for (const Json& each : all["engines"]) {
      if (each["name"] == name) return each;
    }
    return {};
  }

  RedisServer redis_;
};

TEST_F(EnginesDownTest, AnEngineThatIsDownAtTheStartComesByItself) {
  redis_.kill();
  const Daemon daemon({"--on", "far=" + redis_.url(), "--on", "near=" + url()});
  ASSERT_TRUE(daemon.listening());
  const Answer down = daemon.post("/v1/locks/x?engine=far", Json::object());
  EXPECT_EQ(down.status, 503) << down.body;
  EXPECT_EQ(down.json()["code"], "unreachable");
  EXPECT_FALSE(down.header("retry-after").empty());
  ASSERT_TRUE(eventually([&] { return engine(daemon, "far").contains("error"); }));
  EXPECT_EQ(engine(daemon, "far")["reachable"], false);
  EXPECT_TRUE(eventually([&] { return engine(daemon, "near")["reachable"] == true; }));
  EXPECT_EQ(daemon.post("/v1/locks/x?engine=near", Json::object()).status, 200);

  redis_.restart();
  EXPECT_TRUE(eventually(
      [&] { return daemon.post("/v1/locks/x?engine=far", Json::object()).status == 200; }));
  EXPECT_TRUE(eventually([&] { return engine(daemon, "far")["reachable"] == true; }));
}

TEST_F(EnginesDownTest, AnEngineThatIsSilentHoldsUpNobodyElse) {
  Proxy proxy(redis_.port());
  const Daemon daemon(
      {"--on", "far=redis://127.0.0.1:" + std::to_string(proxy.port()), "--on", "near=" + url()});
  const Answer taken = daemon.post("/v1/locks/x?engine=far", {{"ttl_ms", 60'000}});
  ASSERT_EQ(taken.status, 200);
  proxy.silence(true);
  HttpClient stuck = daemon.begin({.method = "POST",
                                   .target = "/v1/renew",
                                   .body = Json({{"lease", taken.json()["lease"]}}).dump()});
  const auto begun = Clock::now();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(
        daemon.post("/v1/locks/y" + std::to_string(i) + "?engine=near", Json::object()).status,
        200);
  }
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(4))
      << "sooner than the silent one is given up";
  const Answer renewed = stuck.answer();
  EXPECT_TRUE(renewed.status == 503 || renewed.status == 504) << renewed.status << renewed.body;
  // The lease has not ended by that: it is renewed as soon as the engine is there.
  proxy.silence(false);
  EXPECT_TRUE(eventually(
      [&] { return daemon.post("/v1/renew", {{"lease", taken.json()["lease"]}}).status == 200; }));
  // The page does not say for long that it is away.
  EXPECT_TRUE(eventually([&] { return engine(daemon, "far")["reachable"] == true; }));
}

TEST_F(EnginesDownTest, AWaitGoesOnWhenTheEngineIsRestarted) {
  const Daemon daemon({"--on", redis_.url()});
  ASSERT_EQ(daemon.post("/v1/locks/x", {{"ttl_ms", 600'000}}).status, 200);
  HttpClient waiting = daemon.begin(acquiring("x", {{"wait_ms", 120'000}}));
  ASSERT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 1; }));
  redis_.restart();  // without its data: the lock is free
  EXPECT_EQ(waiting.answer().status, 200);
}

class DaemonEndTest : public DaemonTest {};

TEST_F(DaemonEndTest, KilledItsLeasesEndByTheirTtlAndNotBefore) {
  Daemon first = serve();
  const Daemon second = serve();
  const auto begun = Clock::now();
  const Json lease = first.post("/v1/locks/x", {{"ttl_ms", 4000}}).json();
  ASSERT_TRUE(lease.contains("lease"));
  HttpClient held = first.begin(holding("y", {{"ttl_ms", 4000}}));
  ASSERT_TRUE(held.event("granted").contains("token"));
  first.process().kill(SIGKILL);
  first.process().wait();
  EXPECT_TRUE(held.ended());
  const Answer next = second.post("/v1/locks/x", {{"wait_ms", 60'000}});
  EXPECT_EQ(next.status, 200) << next.body;
  EXPECT_GE(Clock::now() - begun, std::chrono::milliseconds(lease["valid_for_ms"].get<int>()));
  EXPECT_GT(next.json()["token"], lease["token"]);
  EXPECT_EQ(second.post("/v1/locks/y", {{"wait_ms", 60'000}}).status, 200);
}

TEST_F(DaemonEndTest, ItsLeasesGoOnThroughTheNextOne) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    const std::string name = "x" + std::to_string(signal);
    Daemon first = serve();
    const Json lease = first.post("/v1/locks/" + name, {{"ttl_ms", 60'000}}).json();
    ASSERT_TRUE(lease.contains("lease")) << lease;
    first.process().kill(signal);
    first.process().wait();
    const Daemon second = serve();
    for (int i = 0; i < 3; ++i) {
      const Answer renewed = second.post("/v1/renew", {{"lease", lease["lease"]}});
      ASSERT_EQ(renewed.status, 200) << renewed.body;
      EXPECT_EQ(renewed.json()["token"], lease["token"]);
      EXPECT_EQ(renewed.json()["lease"], lease["lease"]);
      EXPECT_LE(renewed.json()["valid_for_ms"], 60'000);
    }
    EXPECT_NE(second.get("/metrics").body.find("leases 1\n"), std::string::npos) << "kept once";
    EXPECT_EQ(second.post("/v1/release", {{"lease", lease["lease"]}}).status, 200);
    EXPECT_TRUE(becomes_free(second, name));
  }
}

TEST_F(DaemonEndTest, ALeaseOfOneDaemonIsRenewedAndReleasedByAnother) {
  const Daemon first = serve();
  const Daemon second = serve();
  const Json lease = first.post("/v1/locks/x", Json::object()).json();
  EXPECT_EQ(second.post("/v1/locks/x", Json::object()).status, 409);
  EXPECT_EQ(second.post("/v1/renew", {{"lease", lease["lease"]}}).status, 200);
  EXPECT_EQ(second.post("/v1/release", {{"lease", lease["lease"]}}).status, 200);
  const Json next = second.post("/v1/locks/x", Json::object()).json();
  EXPECT_GT(next["token"], lease["token"]);
  // The first one does not know it yet, and must not end what is another's.
  EXPECT_EQ(first.post("/v1/renew", {{"lease", lease["lease"]}}).status, 410);
  EXPECT_EQ(first.post("/v1/release", {{"lease", lease["lease"]}}).status, 410);
  EXPECT_EQ(second.post("/v1/renew", {{"lease", next["lease"]}}).status, 200);
}

// The engine is slow to answer when the daemon is told to end: what it has sent arrives all the same.
TEST_F(DaemonEndTest, WhatItGivesBackAtItsEndArrives) {
  const RedisServer redis;
  Proxy proxy(redis.port());
  Daemon daemon({"--on", "redis://127.0.0.1:" + std::to_string(proxy.port())});
  const Daemon other({"--on", redis.url()});
  std::vector<HttpClient> holders;
  for (int i = 0; i < 20; ++i) {
    holders.push_back(daemon.begin(holding("x" + std::to_string(i), {{"ttl_ms", 600'000}})));
    ASSERT_TRUE(holders.back().event("granted").contains("token"));
  }
  proxy.set(Direction::to_server, ProxyMode::delay, std::chrono::milliseconds(300));
  daemon.process().kill(SIGTERM);
  for (HttpClient& holder : holders) {
    EXPECT_TRUE(holder.ended());
    holder.close();
  }
  EXPECT_EQ(daemon.process().wait().status, 0);
  EXPECT_TRUE(eventually([&] { return other.get("/v1/locks").json()["locks"].empty(); }));
}

TEST_F(DaemonEndTest, ItEndsInTimeWhateverItsClientsDo) {
  Daemon daemon = serve();
  ASSERT_EQ(daemon.post("/v1/locks/x", Json::object()).status, 200);
  std::vector<HttpClient> clients;
  for (const Ask& ask : {acquiring("x", {{"wait_ms", 300'000}}), holding("y"),
                         Ask{.target = "/v1/feed"}, Ask{.target = "/v1/events"}}) {
    clients.push_back(daemon.begin(ask));
  }
  clients.emplace_back(daemon.port());
  clients.back().send("POST / HTTP/1.1\r\n");
  ASSERT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 1; }));
  const auto begun = Clock::now();
  daemon.process().kill(SIGTERM);
  EXPECT_EQ(daemon.process().wait().status, 0);
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(20));
  EXPECT_EQ(clients[0].answer().status, 503);
}

}  // namespace
}  // namespace holdfast::test
