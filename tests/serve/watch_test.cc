// The daemon tells of others: history, events, deadlocks.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "daemon_fixture.h"
#include "redis_server.h"

namespace holdfast::test {
namespace {

class WatchTest : public DaemonTest {
 protected:
  static std::vector<Json> history(const Daemon& daemon, const std::string& kind,
                                   const std::string& query = "") {
    std::vector<Json> found;
    const Json all = daemon.get("/v1/history" + query).json();
    for (const Json& each : all["events"]) {
      if (each["kind"] == kind) found.push_back(each);
    }
    return found;
  }
};

TEST_F(WatchTest, HistoryTellsOfGrantsLossesAndBreaksWithTheirReasons) {
  const Daemon daemon = serve();
  const Json first = daemon.post("/v1/locks/x", {{"label", "one"}}).json();
  HttpClient waiting = daemon.begin(acquiring("x", {{"label", "two"}, {"wait_ms", 60'000}}));
  ASSERT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 1; }));
  std::this_thread::sleep_for(
      std::chrono::milliseconds(5));  // it has waited, in whole milliseconds
  const std::string reason = "stuck <b>\r\ndata: evil\n\n";
  ASSERT_EQ(
      daemon.post("/v1/locks/x/break", {{"token", first["token"]}, {"reason", reason}}).status,
      200);
  const Json second = waiting.answer().json();
  ASSERT_TRUE(second.contains("lease")) << second;

  ASSERT_TRUE(eventually([&] { return history(daemon, "granted", "?name=x").size() == 2; }));
  const std::vector<Json> broken = history(daemon, "broken", "?name=x");
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0]["token"], first["token"]);
  EXPECT_EQ(broken[0]["reason"].get<std::string>().find('\n'), std::string::npos);
  EXPECT_EQ(broken[0]["source"], "daemon");
  const std::vector<Json> granted = history(daemon, "granted", "?name=x");
  EXPECT_EQ(granted[0]["label"], "one");
  EXPECT_EQ(granted[1]["token"], second["token"]);
  EXPECT_GT(granted[1]["waited_for_ms"], 0);
  ASSERT_EQ(daemon.post("/v1/release", {{"lease", second["lease"]}}).status, 200);
  EXPECT_TRUE(eventually([&] { return history(daemon, "released", "?name=x").size() == 1; }));
  EXPECT_TRUE(history(daemon, "granted", "?name=other").empty());
}

TEST_F(WatchTest, ALeaseThatIsNotRenewedIsToldAsLost) {
  const Daemon daemon = serve();
  ASSERT_EQ(daemon.post("/v1/locks/x", {{"ttl_ms", 500}}).status, 200);
  EXPECT_TRUE(eventually([&] { return history(daemon, "lost").size() == 1; }));
}

TEST_F(WatchTest, EventsOfOneLockAreThoseOfThatLockWhateverItsName) {
  const Daemon daemon = serve();
  HttpClient events(daemon.port());
  ASSERT_TRUE(events.send(
      request_text({.target = "/v1/events?name=a%0A%0Aevent:%20lost%22,%22path%22:%22b"})));
  ASSERT_TRUE(events.read_to(": events from now on"));
  ASSERT_EQ(daemon.post("/v1/locks/b", Json::object()).status, 200);
  ASSERT_EQ(daemon.post("/v1/locks/a%0A%0Aevent:%20lost%22,%22path%22:%22b", Json::object()).status,
            200);
  std::string before;
  ASSERT_TRUE(events.read_to("event: granted\ndata: ", &before));
  EXPECT_EQ(before.find("event: lost"), std::string::npos);
  std::string data;
  ASSERT_TRUE(events.read_to("\n\n", &data));
  EXPECT_EQ(Json::parse(data)["path"], "a%0A%0Aevent%3A%20lost%22%2C%22path%22%3A%22b");
}

TEST_F(WatchTest, WhatOthersDoIsSeen) {
  const Daemon daemon = serve();
  HttpClient feed(daemon.port());
  ASSERT_TRUE(feed.send(request_text({.target = "/v1/feed"})));
  ASSERT_TRUE(feed.event("hello").contains("engines"));
  const Process other = start({"run", "--label", "a stranger", "x", "--", "sleep", "60"});
  std::string text;
  ASSERT_TRUE(feed.read_to("a stranger", &text));
  ASSERT_TRUE(eventually([&] { return !history(daemon, "granted").empty(); }));
  EXPECT_EQ(history(daemon, "granted")[0]["source"], "seen");
}

TEST_F(WatchTest, ADeadlockOverTwoEnginesIsSeenAndNothingIsBroken) {
  const RedisServer redis;
  const Daemon daemon({"--on", "one=" + redis.url(), "--on", "two=" + url()});
  const auto lock = [&](const std::string& name, const std::string& engine,
                        const std::string& owner, int wait_ms) {
    Ask ask = acquiring(name, {{"owner", owner}, {"ttl_ms", 600'000}, {"wait_ms", wait_ms}});
    ask.target += "?engine=" + engine;
    return ask;
  };
  ASSERT_EQ(daemon.ask(lock("a", "one", "left", 0)).status, 200);
  ASSERT_EQ(daemon.ask(lock("b", "two", "right", 0)).status, 200);
  EXPECT_TRUE(daemon.get("/v1/deadlocks").json()["deadlocks"].empty());
  HttpClient feed(daemon.port());
  ASSERT_TRUE(feed.send(request_text({.target = "/v1/feed"})));
  ASSERT_TRUE(feed.event("deadlocks").contains("deadlocks"));
  const HttpClient left = daemon.begin(lock("b", "two", "left", 300'000));
  const HttpClient right = daemon.begin(lock("a", "one", "right", 300'000));
  const Json told = feed.event("deadlocks");
  ASSERT_EQ(told["deadlocks"].size(), 1U) << told;
  EXPECT_NE(told.dump().find("left"), std::string::npos);
  EXPECT_NE(told.dump().find("right"), std::string::npos);
  EXPECT_EQ(daemon.get("/v1/deadlocks").json()["deadlocks"].size(), 1U);
  for (const std::string each : {"a?engine=one", "b?engine=two"}) {
    const Json seen = daemon.get("/v1/locks/" + each).json();
    EXPECT_EQ(seen["holders"].size(), 1U) << seen;
    EXPECT_EQ(seen["waiters"].size(), 1U) << seen;
  }
}

}  // namespace
}  // namespace holdfast::test
