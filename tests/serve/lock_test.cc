// Locks that end with their ttl, on each engine: what every client does.
#include <gtest/gtest.h>

#include <chrono>

#include "engines.h"

namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

class ServedLockTest : public EngineTest {};

TEST_P(ServedLockTest, IsTakenRenewedShownAndReleased) {
  const Daemon daemon = serve();
  const Answer taken =
      daemon.post("/v1/locks/report", {{"ttl_ms", 20'000}, {"label", "me"}, {"owner", "mine"}});
  ASSERT_EQ(taken.status, 200) << taken.body;
  const Json lease = taken.json();
  EXPECT_EQ(taken.header("holdfast-token"), std::to_string(lease["token"].get<long>()));
  EXPECT_EQ(lease["name"], "report");
  EXPECT_LE(lease["valid_for_ms"], 20'000);
  EXPECT_GT(lease["valid_for_ms"], 10'000);

  const Json seen = lock_at(daemon, "report");
  ASSERT_EQ(seen["holders"].size(), 1U) << seen;
  EXPECT_EQ(seen["holders"][0]["label"], "me");
  EXPECT_EQ(seen["holders"][0]["owner"], "mine");
  EXPECT_EQ(seen["holders"][0]["token"], lease["token"]);
  EXPECT_EQ(daemon.get("/v1/locks?prefix=rep").json()["locks"].size(), 1U);
  EXPECT_EQ(daemon.get("/v1/locks?prefix=other").json()["locks"].size(), 0U);

  const Answer busy = daemon.post("/v1/locks/report", Json::object());
  EXPECT_EQ(busy.status, 409) << busy.body;
  EXPECT_EQ(busy.json()["code"], "busy");
  EXPECT_EQ(busy.json()["holder"], "me");
  EXPECT_EQ(busy.header("content-type"), "application/problem+json");

  const Answer renewed = daemon.post("/v1/renew", {{"lease", lease["lease"]}});
  ASSERT_EQ(renewed.status, 200) << renewed.body;
  EXPECT_EQ(renewed.json()["token"], lease["token"]);
  EXPECT_EQ(daemon.post("/v1/release", {{"lease", lease["lease"]}}).status, 200);
  EXPECT_TRUE(becomes_free(daemon, "report"));
}

TEST_P(ServedLockTest, AReleaseThatIsRepeatedIsGoneAndTouchesNobody) {
  const Daemon daemon = serve();
  const Json first = daemon.post("/v1/locks/x", Json::object()).json();
  ASSERT_EQ(daemon.post("/v1/release", {{"lease", first["lease"]}}).status, 200);
  const Json second = daemon.post("/v1/locks/x", Json::object()).json();
  EXPECT_GT(second["token"], first["token"]);
  const Answer again = daemon.post("/v1/release", {{"lease", first["lease"]}});
  EXPECT_EQ(again.status, 410) << again.body;
  EXPECT_EQ(again.json()["code"], "not_held");
  EXPECT_EQ(daemon.post("/v1/renew", {{"lease", first["lease"]}}).status, 410);
  EXPECT_EQ(lock_at(daemon, "x")["holders"][0]["token"], second["token"]);
}

TEST_P(ServedLockTest, SharedHoldersAreTogetherAndPermitsAreCounted) {
  const Daemon daemon = serve();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(daemon.post("/v1/locks/shared", {{"mode", "shared"}}).status, 200);
    EXPECT_EQ(daemon.post("/v1/locks/two", {{"mode", "permit"}, {"permits", 2}}).status, 200);
  }
  EXPECT_EQ(holders_of(daemon, "shared"), 2U);
  EXPECT_EQ(holders_of(daemon, "two"), 2U);
  EXPECT_EQ(daemon.post("/v1/locks/shared", Json::object()).status, 409);
  EXPECT_EQ(daemon.post("/v1/locks/two", {{"mode", "permit"}, {"permits", 2}}).status, 409);
}

TEST_P(ServedLockTest, AHeldRequestIsAnsweredWhenTheLockIsReleased) {
  const Daemon daemon = serve();
  const Json first = daemon.post("/v1/locks/x", Json::object()).json();
  HttpClient waiting = daemon.begin(acquiring("x", {{"wait_ms", 60'000}}));
  ASSERT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 1; }));
  ASSERT_EQ(daemon.post("/v1/release", {{"lease", first["lease"]}}).status, 200);
  const Answer granted = waiting.answer();
  ASSERT_EQ(granted.status, 200) << granted.body;
  EXPECT_GT(granted.json()["token"], first["token"]);
  // Nobody renews it, so it is worth all of its ttl, or what is left of that.
  EXPECT_LE(granted.json()["valid_for_ms"], 30'000);
  EXPECT_GT(granted.json()["valid_for_ms"], 15'000);
}

TEST_P(ServedLockTest, AWaitEndsWithinItsTimeAndLeavesNothing) {
  const Daemon daemon = serve();
  const Json first = daemon.post("/v1/locks/x", {{"ttl_ms", 120'000}}).json();
  const auto begun = Clock::now();
  const Answer busy = daemon.post("/v1/locks/x", {{"wait_ms", 700}});
  EXPECT_EQ(busy.status, 409) << busy.body;
  EXPECT_GE(Clock::now() - begun, std::chrono::milliseconds(700));
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(30));
  EXPECT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 0; }));
}

TEST_P(ServedLockTest, AClientThatLeavesWhileItWaitsLeavesNothingBehind) {
  const Daemon daemon = serve();
  const Json first = daemon.post("/v1/locks/x", {{"ttl_ms", 120'000}}).json();
  for (const bool resets : {false, true}) {
    HttpClient waiting = daemon.begin(acquiring("x", {{"wait_ms", 300'000}}));
    ASSERT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 1; }));
    resets ? waiting.reset() : waiting.close();
    EXPECT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 0; }));
  }
  ASSERT_EQ(daemon.post("/v1/release", {{"lease", first["lease"]}}).status, 200);
  EXPECT_TRUE(becomes_free(daemon, "x"));
}

// The release and the end of the client race: whichever is first, nobody holds the lock afterwards, or a client that
// was told so.
TEST_P(ServedLockTest, AClientThatLeavesAtTheGrantGivesItBack) {
  const Daemon daemon = serve();
  for (int round = 0; round < 8; ++round) {
    const Json first = daemon.post("/v1/locks/x", Json::object()).json();
    ASSERT_TRUE(first.contains("lease")) << first;
    HttpClient waiting =
        daemon.begin(acquiring("x", {{"wait_ms", 300'000}, {"ttl_ms", 1'000'000}}));
    ASSERT_TRUE(eventually([&] { return waiters_of(daemon, "x") == 1; }));
    HttpClient releasing = daemon.begin({.method = "POST",
                                         .target = "/v1/release",
                                         .body = Json({{"lease", first["lease"]}}).dump()});
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200 * round));
    // It is the client's whether it has read the answer, or it could not be told.
    const Answer answer = round % 4 == 3 ? waiting.answer() : Answer();
    waiting.reset();
    EXPECT_EQ(releasing.answer().status, 200);
    if (answer.status == 200) {
      EXPECT_EQ(daemon.post("/v1/release", {{"lease", answer.json()["lease"]}}).status, 200);
    }
    const bool is_free =
        eventually([&] { return holders_of(daemon, "x") == 0; }, std::chrono::seconds(3));
    // Written into the socket before the client went away: it ends with the ttl, as the answer said. Here we end it.
    if (!is_free) {
      const Json token = lock_at(daemon, "x")["holders"][0]["token"];
      EXPECT_EQ(daemon.post("/v1/locks/x/break", {{"token", token}, {"reason", "test"}}).status,
                200);
    }
    ASSERT_TRUE(becomes_free(daemon, "x"));
  }
}

TEST_P(ServedLockTest, ABrokenLockIsLostToItsHolder) {
  const Daemon daemon = serve();
  const Json lease = daemon.post("/v1/locks/x", Json::object()).json();
  const Json wrong = {{"token", lease["token"].get<long>() + 1}, {"reason", "stuck"}};
  EXPECT_EQ(daemon.post("/v1/locks/x/break", wrong).status, 409);
  EXPECT_EQ(daemon.post("/v1/locks/x/break", {{"token", lease["token"]}}).status, 400)
      << "no reason";
  EXPECT_EQ(holders_of(daemon, "x"), 1U);
  EXPECT_EQ(
      daemon.post("/v1/locks/x/break", {{"token", lease["token"]}, {"reason", "stuck"}}).status,
      200);
  EXPECT_EQ(holders_of(daemon, "x"), 0U);
  const Answer renewed = daemon.post("/v1/renew", {{"lease", lease["lease"]}});
  EXPECT_EQ(renewed.status, 410) << renewed.body;
  EXPECT_EQ(daemon.post("/v1/release", {{"lease", lease["lease"]}}).status, 410);
}

TEST_P(ServedLockTest, ALeaseThatNobodyRenewsEndsWithItsTtl) {
  const Daemon daemon = serve();
  const Json lease = daemon.post("/v1/locks/x", {{"ttl_ms", 1500}}).json();
  ASSERT_TRUE(lease.contains("lease")) << lease;
  EXPECT_LE(lease["valid_for_ms"], 1500);
  const Answer next = daemon.post("/v1/locks/x", {{"wait_ms", 60'000}});
  ASSERT_EQ(next.status, 200) << next.body;
  EXPECT_GT(next.json()["token"], lease["token"]);
  EXPECT_EQ(daemon.post("/v1/renew", {{"lease", lease["lease"]}}).status, 410);
}

TEST_P(ServedLockTest, NamesAndLabelsAreAnyBytes) {
  const Daemon daemon = serve();
  const std::string target = "/v1/locks/%00%01a%2Fb%0D%0A%FF%3Cscript%3E";
  const Answer taken = daemon.post(target, {{"label", "<b>\r\n\x1b[31m"}});
  ASSERT_EQ(taken.status, 200) << taken.body;
  const Answer seen = daemon.get(target);
  ASSERT_EQ(seen.status, 200) << seen.body;
  EXPECT_EQ(seen.json()["holders"].size(), 1U);
  EXPECT_EQ("/v1/locks/" + seen.json()["path"].get<std::string>(), target);
  for (const char each : seen.body)
    EXPECT_TRUE(each == '\n' || (each >= ' ' && each < 0x7f)) << seen.body;
}

TEST_P(ServedLockTest, ALabelWithANulIsShownOrRefused) {
  const Daemon daemon = serve();
  const Answer taken = daemon.post("/v1/locks/x", {{"label", std::string("a\0b", 3)}});
  EXPECT_TRUE(taken.status == 200 || taken.status == 400) << taken.status << taken.body;
}

HOLDFAST_ON_ENGINES(ServedLockTest);

}  // namespace
}  // namespace holdfast::test
