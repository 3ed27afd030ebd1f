// Spans of waits and holds: their tree, status and bounds, and OTLP/JSON whatever strangers have written.
#include "holdfast/trace.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace holdfast {
namespace {

using Json = nlohmann::json;

constexpr const char* kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class TraceTest : public testing::Test {
 protected:
  TraceOptions options(const std::string& traceparent = {}) {
    return {.service = "test",
            .traceparent = traceparent,
            .sink = [this](std::string json) { requests_.push_back(std::move(json)); },
            .clock = [this] { return now_; }};
  }
  // All spans that were handed over; each request is checked for what an importer needs.
  std::vector<Json> spans() {
    std::vector<Json> all;
    for (const std::string& text : requests_) {
      EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }));
      const Json request = Json::parse(text);
      const Json& resource = request.at("resourceSpans").at(0);
      EXPECT_EQ(resource.at("resource").at("attributes").at(0).at("value").at("stringValue"),
                "test");
      EXPECT_EQ(resource.at("scopeSpans").at(0).at("scope").at("name"), "holdfast");
      for (const Json& span : resource.at("scopeSpans").at(0).at("spans")) all.push_back(span);
    }
    return all;
  }
  static std::map<std::string, std::string> attributes(const Json& of) {
    std::map<std::string, std::string> all;
    for (const Json& each : of.at("attributes"))
      all[each.at("key")] = each.at("value").begin()->get<std::string>();
    return all;
  }
  Hold hold(std::uint8_t number = 1) const {
    const ClaimId id({number});
    Claim claim{.name = "nightly", .id = id, .call = id, .since = now_};
    claim.owner = "me";
    return {claim, Token(7)};
  }
  void pass(Duration span) { now_ += span; }

  BootTime now_ = BootTime(std::chrono::hours(1));
  std::vector<std::string> requests_;
};

using std::chrono::seconds;

TEST_F(TraceTest, AHoldIsBelowItsWaitAndThatBelowTheTraceparent) {
  Tracer tracer(options(kParent));
  const auto observer = tracer.observer("redis");
  observer->on_wait(hold().claim);
  pass(seconds(1));
  observer->on_retry(hold().claim, Failure(Code::unreachable, "down"));
  pass(seconds(1));
  observer->on_granted(hold(), now_ + seconds(30));
  pass(seconds(5));
  observer->on_released(hold(), true);
  tracer.flush();

  const std::vector<Json> all = spans();
  ASSERT_EQ(all.size(), 2U);
  const Json& wait = all[0];
  const Json& held = all[1];
  EXPECT_EQ(wait.at("name"), "holdfast wait");
  EXPECT_EQ(wait.at("traceId"), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(wait.at("parentSpanId"), "b7ad6b7169203331");
  EXPECT_EQ(wait.at("kind"), 3);
  EXPECT_EQ(held.at("name"), "holdfast hold");
  EXPECT_EQ(held.at("traceId"), wait.at("traceId"));
  EXPECT_EQ(held.at("parentSpanId"), wait.at("spanId"));
  EXPECT_NE(held.at("spanId"), wait.at("spanId"));
  EXPECT_EQ(wait.at("status"), Json::object());
  EXPECT_EQ(held.at("status"), Json::object());
  const auto ns = [](const Json& span, const char* key) {
    return std::stoll(span.at(key).get<std::string>());
  };
  EXPECT_EQ(ns(wait, "endTimeUnixNano") - ns(wait, "startTimeUnixNano"), 2'000'000'000);
  EXPECT_EQ(ns(held, "endTimeUnixNano") - ns(held, "startTimeUnixNano"), 5'000'000'000);
  EXPECT_EQ(ns(wait.at("events").at(0), "timeUnixNano") - ns(wait, "startTimeUnixNano"),
            1'000'000'000);
  EXPECT_EQ(wait.at("events").at(0).at("name"), "retry");
  auto told = attributes(held);
  EXPECT_EQ(told["holdfast.name"], "nightly");
  EXPECT_EQ(told["holdfast.engine"], "redis");
  EXPECT_EQ(told["holdfast.mode"], "exclusive");
  EXPECT_EQ(told["holdfast.token"], "7");
  EXPECT_EQ(told["holdfast.claim"], hold().claim.call.hex());
  EXPECT_EQ(told["holdfast.owner"], "me");
  EXPECT_EQ(told["holdfast.outcome"], "released");
  EXPECT_EQ(attributes(wait)["holdfast.outcome"], "granted");
}

TEST_F(TraceTest, FailuresAndLossesAreErrorsBusyIsNone) {
  Tracer tracer(options());
  const auto observer = tracer.observer("redis");
  for (const Code code : {Code::busy, Code::cancelled, Code::unreachable, Code::unknown}) {
    observer->on_wait(hold().claim);
    observer->on_refused(hold().claim, Failure(code, "because"));
  }
  for (int i = 0; i < 2; ++i) {
    observer->on_wait(hold().claim);
    observer->on_granted(hold(), now_);
    observer->on_renewal_failed(hold(), Failure(Code::unreachable, "down"));
    if (i == 0) observer->on_lost(hold(), now_);
    observer->on_released(hold(), Failure(Code::unreachable, "still down"));
  }
  tracer.flush();
  std::vector<std::string> seen;
  for (const Json& span : spans()) {
    seen.push_back(attributes(span)["holdfast.outcome"] +
                   (span.at("status").contains("code") ? " 2" : ""));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"busy", "cancelled", "unreachable 2", "unknown 2",
                                            "granted", "lost 2", "granted", "unreachable 2"}));
  EXPECT_EQ(spans().at(5).at("events").size(), 2U);
}

// As a daemon takes them for others: kept as leases, and given back by them.
TEST_F(TraceTest, AHoldThatOutlivesItsProcessIsASpanIfItEndsHere) {
  Tracer tracer(options());
  const auto observer = tracer.observer("redis");
  Hold lasting = hold();
  lasting.claim.outlives_process = true;
  observer->on_wait(lasting.claim);
  observer->on_granted(lasting, now_ + seconds(30));
  observer->on_released(lasting, true);
  tracer.flush();
  EXPECT_EQ(spans().size(), 2U);
}

TEST_F(TraceTest, WithoutATraceparentEachCallIsATraceOfItsOwn) {
  for (const char* parent :
       {"", "00-0-0-01", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}) {
    requests_.clear();
    Tracer tracer(options(parent));
    EXPECT_EQ(tracer.traceparent(), "");
    const auto observer = tracer.observer("redis");
    for (std::uint8_t i = 1; i <= 2; ++i) {
      observer->on_wait(hold(i).claim);
      observer->on_refused(hold(i).claim, Failure(Code::busy, ""));
    }
    tracer.flush();
    EXPECT_FALSE(spans().at(0).contains("parentSpanId"));
    EXPECT_NE(spans().at(0).at("traceId"), spans().at(1).at("traceId"));
    EXPECT_EQ(spans().at(0).at("traceId").get<std::string>().size(), 32U);
  }
}

TEST_F(TraceTest, ARootIsAboveAll) {
  TraceOptions with_root = options(kParent);
  with_root.root = "holdfast run";
  Tracer tracer(std::move(with_root));
  const std::string inner = tracer.traceparent();
  EXPECT_TRUE(is_traceparent(inner));
  EXPECT_EQ(inner.substr(0, 35), std::string(kParent).substr(0, 35));
  const auto observer = tracer.observer("redis");
  observer->on_wait(hold().claim);
  observer->on_refused(hold().claim, Failure(Code::busy, ""));
  tracer.end("status 1");
  tracer.flush();
  const Json root = spans().at(1);
  EXPECT_EQ(root.at("name"), "holdfast run");
  EXPECT_EQ(root.at("parentSpanId"), "b7ad6b7169203331");
  EXPECT_EQ(root.at("spanId"), inner.substr(36, 16));
  EXPECT_EQ(spans().at(0).at("parentSpanId"), root.at("spanId"));
  EXPECT_EQ(root.at("status").at("message"), "status 1");
}

TEST_F(TraceTest, WhatIsNotSampledIsNotRecorded) {
  std::string unsampled = kParent;
  unsampled.back() = '0';
  TraceOptions with_root = options(unsampled);
  with_root.root = "root";
  Tracer tracer(std::move(with_root));
  EXPECT_EQ(tracer.traceparent(), unsampled);
  const auto observer = tracer.observer("redis");
  observer->on_wait(hold().claim);
  observer->on_granted(hold(), now_);
  observer->on_released(hold(), true);
  tracer.end();
  tracer.flush();
  EXPECT_TRUE(requests_.empty());
}

TEST_F(TraceTest, HostileTextStaysData) {
  Tracer tracer(options());
  for (const std::string text :
       {"\"}]}", "a\nb\x1b[2J", "\xff\xfe", "h\u00e9\U0001F512", "back\\slash"}) {
    const auto observer = tracer.observer(text);
    Claim claim = hold().claim;
    claim.name = text;
    observer->on_wait(claim);
    observer->on_refused(claim, Failure(Code::unreachable, text));
  }
  tracer.flush();
  EXPECT_EQ(spans().size(), 5U);
  EXPECT_EQ(attributes(spans().at(0))["holdfast.name"], "\"}]}");
  EXPECT_EQ(attributes(spans().at(1))["holdfast.name"], "a\\x0Ab\\x1B[2J");
  EXPECT_EQ(attributes(spans().at(3))["holdfast.name"], "h\u00e9\U0001F512");
}

TEST_F(TraceTest, MemoryIsBoundedAndWhatIsDroppedIsCounted) {
  TraceOptions few = options();
  few.max_open = 3;
  Tracer tracer(std::move(few));
  const auto observer = tracer.observer("redis");
  for (std::uint8_t i = 1; i <= 10; ++i) {
    observer->on_wait(hold(i).claim);
    observer->on_granted(hold(i), now_ + seconds(1));
  }
  EXPECT_EQ(tracer.dropped(), 14U);  // A wait and a hold each.
  // Holds that nobody ended are forgotten, so that new ones are seen.
  pass(std::chrono::minutes(2));
  observer->on_wait(hold(11).claim);
  observer->on_granted(hold(11), now_ + seconds(1));
  observer->on_released(hold(11), true);
  tracer.flush();
  EXPECT_EQ(attributes(spans().back())["holdfast.claim"], hold(11).claim.call.hex());
  EXPECT_EQ(tracer.dropped(), 17U);

  for (int i = 0; i < 1000; ++i)
    observer->on_retry(hold(12).claim, Failure(Code::unreachable, "x"));
  observer->on_wait(hold(12).claim);
  for (int i = 0; i < 1000; ++i)
    observer->on_retry(hold(12).claim, Failure(Code::unreachable, "x"));
  observer->on_refused(hold(12).claim, Failure(Code::unreachable, "x"));
  tracer.flush();
  EXPECT_EQ(spans().back().at("events").size(), 32U);
  EXPECT_EQ(spans().back().at("droppedEventsCount"), 1000 - 32);
}

TEST_F(TraceTest, BatchesAreHandedOverWithoutAFlush) {
  TraceOptions small = options();
  small.batch = 2;
  Tracer tracer(std::move(small));
  const auto observer = tracer.observer("redis");
  for (std::uint8_t i = 1; i <= 5; ++i) {
    observer->on_wait(hold(i).claim);
    observer->on_refused(hold(i).claim, Failure(Code::busy, ""));
  }
  EXPECT_EQ(requests_.size(), 2U);
  EXPECT_EQ(spans().size(), 4U);
}

TEST_F(TraceTest, ASinkThatThrowsLosesItsSpansOnly) {
  TraceOptions broken = options();
  broken.sink = [](const std::string&) { throw std::runtime_error("full"); };
  Tracer tracer(std::move(broken));
  const auto observer = tracer.observer("redis");
  observer->on_wait(hold().claim);
  observer->on_refused(hold().claim, Failure(Code::busy, ""));
  tracer.flush();
  EXPECT_EQ(tracer.dropped(), 1U);
}

TEST_F(TraceTest, AnObserverThatOutlivesItsTracerCallsNoSink) {
  std::shared_ptr<Observer> observer;
  {
    TraceOptions each = options();
    each.batch = 1;
    Tracer tracer(std::move(each));
    observer = tracer.observer("redis");
  }
  observer->on_wait(hold().claim);
  observer->on_refused(hold().claim, Failure(Code::busy, ""));
  EXPECT_TRUE(requests_.empty());
}

TEST_F(TraceTest, AForkedChildHandsNothingOver) {
  Tracer tracer(options());
  const auto observer = tracer.observer("redis");
  observer->on_wait(hold().claim);
  observer->on_refused(hold().claim, Failure(Code::busy, ""));
  const pid_t child = fork();
  if (child == 0) {
    tracer.flush();
    observer->on_wait(hold().claim);
    _exit(requests_.empty() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  tracer.flush();
  EXPECT_EQ(requests_.size(), 1U);
}

TEST(TraceparentTest, OnlyWhatW3CAllowsIsTaken) {
  const std::string good = kParent;
  EXPECT_TRUE(is_traceparent(good));
  EXPECT_TRUE(is_traceparent("01" + good.substr(2) + "-more"));
  for (const std::string& bad : {std::string(), good + "-more", good + "x", "ff" + good.substr(2),
                                 good.substr(0, 54), "00-" + std::string(32, '0') + good.substr(35),
                                 good.substr(0, 36) + std::string(16, '0') + "-01",
                                 "00-0AF7651916CD43DD8448EB211C80319C" + good.substr(35),
                                 good.substr(0, 54) + "g", "0\n" + good.substr(2)}) {
    EXPECT_FALSE(is_traceparent(bad)) << bad;
  }
}

}  // namespace
}  // namespace holdfast
