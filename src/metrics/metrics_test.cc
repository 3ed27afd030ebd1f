// Metrics of clients in a TestWorld, read back by a strict parser.
#include "holdfast/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "metrics/exposition.h"
#include "metrics/metrics_testing.h"

namespace holdfast {
namespace {

using namespace metrics_testing;       // NOLINT(google-build-using-namespace): test code
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

// ---- The format --------------------------------------------------------------------------------

TEST(MetricsFormat, ASpanCountsInTheFirstBucketThatIsNotShorter) {
  internal::Histogram histogram;
  histogram.observe(-1s);
  histogram.observe(1ms);
  histogram.observe(1ms + 1ns);
  histogram.observe(1h);
  histogram.observe(1h + 1ns);
  EXPECT_THAT(histogram.counts, testing::ElementsAre(2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1));
  EXPECT_DOUBLE_EQ(histogram.seconds, 7200.002000002);
}

TEST(MetricsFormat, BucketsAreLabelledWithTheirBounds) {
  for (const internal::Bucket& bucket : internal::kBuckets) {
    EXPECT_DOUBLE_EQ(std::stod(std::string(bucket.label)),
                     std::chrono::duration<double>(bucket.up_to).count());
  }
}

TEST(MetricsFormat, NamesCannotEndTheirLabel) {
  EXPECT_EQ(internal::label_value(R"(a"} 1\)"), R"(a\"} 1\\)");
  EXPECT_EQ(internal::label_value("a\nb\xFF\xE2\x80\xAE"), R"(a\\x0Ab\\xFF\\xE2\\x80\\xAE)");
  EXPECT_EQ(internal::label_value("Ärger"), "Ärger");
  EXPECT_LT(internal::label_value(std::string(16384, 'x')).size(), 250U);
}

TEST_F(MetricsTest, APageWithoutLocksIsAPage) { EXPECT_EQ(parsed(metrics).size(), 0U); }

TEST_F(MetricsTest, HostileNamesMakeNoSampleTwice) {
  Client one = client();
  for (const std::string& name : {std::string("\n"), std::string(R"(\x0A)"), std::string("\"\\"),
                                  std::string("a\0b", 3), std::string(16384, 'y')}) {
    EXPECT_TRUE(one.mutex(name).acquire().ok());
  }
  // The first two look the same when they are escaped, so they are counted together.
  EXPECT_EQ(of(metrics, "acquisitions_total", R"(\\x0A)", outcome("granted")), 2);
  EXPECT_EQ(of(metrics, "acquisitions_total", R"(\"\\)", outcome("granted")), 1);
}

// ---- What is counted ---------------------------------------------------------------------------

TEST_F(MetricsTest, AGrantIsHeldUntilItIsReleased) {
  Client one = client();
  Lease lease = one.mutex("x", {.ttl = 30s}).acquire().value();
  EXPECT_EQ(of(metrics, "acquisitions_total", "x", outcome("granted")), 1);
  EXPECT_EQ(of(metrics, "locks_held", "x"), 1);
  EXPECT_EQ(of(metrics, "losses_total", "x"), 0);
  world.advance(65s);
  EXPECT_GT(of(metrics, "renewals_total", "x", outcome("renewed")), 0);
  EXPECT_EQ(of(metrics, "locks_held", "x"), 1);
  ASSERT_TRUE(lease.release().ok());
  EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
  EXPECT_EQ(of(metrics, "releases_total", "x", outcome("released")), 1);
  EXPECT_EQ(of(metrics, "hold_seconds_sum", "x"), 65);
  EXPECT_EQ(of(metrics, "hold_seconds_bucket", "x", ",le=\"30\""), 0);
  EXPECT_EQ(of(metrics, "hold_seconds_bucket", "x", ",le=\"100\""), 1);
}

TEST_F(MetricsTest, ACallWaitsUntilItEnds) {
  Client one = client();
  Client two = client();
  world.hold_clock();
  Lease held = one.mutex("x").acquire().value();
  std::thread waiter([&] { EXPECT_TRUE(two.mutex("x").acquire().ok()); });
  world.await_waiting(1);
  EXPECT_EQ(of(metrics, "calls_waiting", "x"), 1);
  world.advance(4s);
  ASSERT_TRUE(held.release().ok());
  waiter.join();
  EXPECT_EQ(of(metrics, "calls_waiting", "x"), 0);
  EXPECT_EQ(of(metrics, "wait_seconds_sum", "x", ",granted=\"true\""), 4);
  EXPECT_EQ(of(metrics, "wait_seconds_count", "x", ",granted=\"true\""), 2);
  EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
}

TEST_F(MetricsTest, ARefusalIsCountedByItsCode) {
  Client one = client();
  Client two = client();
  const Lease held = one.mutex("x").acquire().value();
  EXPECT_FALSE(two.mutex("x").try_acquire().ok());
  EXPECT_FALSE(two.mutex("x").try_acquire_for(5s).ok());
  EXPECT_EQ(of(metrics, "acquisitions_total", "x", outcome("busy")), 2);
  EXPECT_EQ(of(metrics, "wait_seconds_sum", "x", ",granted=\"false\""), 5);
  EXPECT_EQ(of(metrics, "calls_waiting", "x"), 0);
  world.server_down();
  EXPECT_FALSE(two.mutex("x").try_acquire().ok());
  EXPECT_EQ(of(metrics, "acquisitions_total", "x", outcome("unreachable")), 1);
  EXPECT_FALSE(two.mutex("x").try_acquire_for(5s).ok());
  EXPECT_GT(of(metrics, "retries_total", "x", outcome("unreachable")), 0);
}

TEST_F(MetricsTest, ALossEndsTheHoldOnce) {
  Client one = client();
  {
    const Lease lease = one.mutex("x", {.ttl = 30s}).acquire().value();
    world.advance(1s);
    world.lose("x");
    EXPECT_EQ(of(metrics, "losses_total", "x"), 1);
    EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
  }
  EXPECT_EQ(of(metrics, "releases_total", "x", outcome("not_held")), 1);
  EXPECT_EQ(of(metrics, "hold_seconds_count", "x"), 1);
  EXPECT_EQ(of(metrics, "hold_seconds_sum", "x"), 1);
  EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
}

TEST_F(MetricsTest, AServerThatStaysDownFailsRenewalsUntilTheLeaseIsLost) {
  Client one = client();
  const Lease lease = one.mutex("x", {.ttl = 30s}).acquire().value();
  world.server_down();
  world.advance(31s);
  EXPECT_GT(of(metrics, "renewals_total", "x", outcome("unreachable")), 0);
  EXPECT_EQ(of(metrics, "losses_total", "x"), 1);
  EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
}

TEST_F(MetricsTest, AHoldIsNotLongerThanItWasSurelyOurs) {
  Client one = client();
  const Lease lease = one.mutex("x", {.ttl = 30s}).acquire().value();
  world.pause(1h);
  world.advance(1s);
  EXPECT_EQ(of(metrics, "losses_total", "x"), 1);
  EXPECT_EQ(of(metrics, "hold_seconds_count", "x"), 1);
  EXPECT_LE(of(metrics, "hold_seconds_sum", "x"), 30);
}

TEST_F(MetricsTest, ADetachedLeaseIsHeldUntilItsTtlEndsOrItIsAdopted) {
  Client one = client();
  Lease lease = one.mutex("x", {.ttl = 30s}).acquire().value();
  const Handle handle = lease.detach().value();
  EXPECT_EQ(of(metrics, "locks_held", "x"), 1);
  Lease adopted = one.adopt(handle).value();
  EXPECT_EQ(of(metrics, "acquisitions_total", "x", outcome("granted")), 1);
  EXPECT_EQ(of(metrics, "acquisitions_total", "x", outcome("adopted")), 1);
  EXPECT_EQ(of(metrics, "locks_held", "x"), 1);
  ASSERT_TRUE(adopted.detach().ok());
  world.advance(30s);
  EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
  EXPECT_EQ(of(metrics, "losses_total", "x"), 0);
}

TEST_F(MetricsTest, AHandleIsHeldUntilItsTtlEndsOrItIsAdoptedAndReleased) {
  Client one = client();
  const Handle handle = one.mutex("x", {.ttl = 30s}).acquire_detached({}).value();
  EXPECT_EQ(of(metrics, "acquisitions_total", "x", outcome("granted")), 1);
  EXPECT_EQ(of(metrics, "locks_held", "x"), 1);
  Lease adopted = one.adopt(handle).value();
  EXPECT_EQ(of(metrics, "locks_held", "x"), 1);
  ASSERT_TRUE(adopted.release().ok());
  EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
  EXPECT_EQ(of(metrics, "hold_seconds_count", "x"), 1);
  ASSERT_TRUE(one.mutex("x", {.ttl = 30s}).acquire_detached({}).ok());
  EXPECT_EQ(of(metrics, "locks_held", "x"), 1);
  world.advance(30s);
  EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
  EXPECT_EQ(of(metrics, "hold_seconds_count", "x"), 1);
}

// As the daemon keeps those for its clients.
TEST_F(MetricsTest, ALeaseThatOutlivesItsProcessIsHeldUntilItIsReleased) {
  Client one = client();
  const LockOptions options{.ttl = 30s, .auto_renew = false, .outlives_process = true};
  Lease lease = one.mutex("x", options).acquire().value();
  EXPECT_EQ(of(metrics, "locks_held", "x"), 1);
  world.advance(2s);
  ASSERT_TRUE(lease.release().ok());
  EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
  EXPECT_EQ(of(metrics, "hold_seconds_sum", "x"), 2);
}

TEST_F(MetricsTest, NamesBeyondTheLimitAreCountedTogether) {
  Metrics few{{.max_names = 2, .clock = [this] { return world.now(); }}};
  Client one = world.client({.observer = few.observer("test")});
  std::vector<Lease> leases;
  for (int i = 0; i < 10; ++i)
    leases.push_back(one.mutex("n" + std::to_string(i)).acquire().value());
  EXPECT_EQ(of(few, "locks_held", "n0"), 1);
  EXPECT_EQ(of(few, "locks_held", "n1"), 1);
  EXPECT_EQ(of(few, "locks_held", "n2"), -1);
  EXPECT_EQ(of(few, "locks_held", "(other)"), 8);
  leases.clear();
  EXPECT_EQ(of(few, "locks_held", "(other)"), 0);
  EXPECT_TRUE(one.mutex("n1").acquire().ok());
  EXPECT_EQ(of(few, "acquisitions_total", "n1", outcome("granted")), 2);
}

TEST_F(MetricsTest, EnginesAndModesAreCountedApart) {
  Client one = world.client({.observer = metrics.observer("a")});
  Client two = world.client({.observer = metrics.observer("b\"")});
  const Lease first = one.shared_mutex("x").acquire_shared().value();
  const Lease second = two.shared_mutex("x").acquire_shared().value();
  const Lease third = two.mutex("y").acquire().value();
  const Samples samples = parsed(metrics);
  EXPECT_EQ(samples.at(R"(holdfast_locks_held{engine="a",name="x",mode="shared"})"), 1);
  EXPECT_EQ(samples.at(R"(holdfast_locks_held{engine="b\"",name="x",mode="shared"})"), 1);
  EXPECT_EQ(samples.at(R"(holdfast_locks_held{engine="b\"",name="y",mode="exclusive"})"), 1);
  EXPECT_EQ(samples.at(R"(holdfast_warnings_total{engine="a"})"), 0);
}

TEST_F(MetricsTest, WhatHappensToConnectionsIsCountedByEngine) {
  const auto one = metrics.observer("test");
  const auto other = metrics.observer("other");
  for (int i = 0; i < 1000; ++i) {
    one->on_server({ServerEventKind::reconnected, "10.0.0." + std::to_string(i)});
  }
  const Failure down(Code::unreachable, "down");
  one->on_server({ServerEventKind::connect_failed, "10.0.0.1", down});
  one->on_server({ServerEventKind::error, "10.0.0.1", Failure(Code::exhausted, "full")});
  one->on_server({ServerEventKind::error, "10.0.0.1"});
  const Samples samples = parsed(metrics);
  const auto events = [&](const std::string& engine, const std::string& event) {
    return samples.at("holdfast_connection_events_total{engine=\"" + engine + "\",event=\"" +
                      event + "\"}");
  };
  EXPECT_EQ(events("test", "reconnected"), 1000);
  EXPECT_EQ(events("test", "connect_failed"), 1);
  EXPECT_EQ(events("test", "disconnected"), 0);
  EXPECT_EQ(events("other", "connected"), 0);
  EXPECT_EQ(samples.at(R"(holdfast_server_errors_total{engine="test",code="exhausted"})"), 1);
  EXPECT_EQ(samples.at(R"(holdfast_server_errors_total{engine="test",code="unknown"})"), 1);
  EXPECT_EQ(samples.size(), 2 * (4 + 1) + 2U);
}

TEST_F(MetricsTest, AHundredThousandNamesMakeAPageOfAHundred) {
  const auto observer = metrics.observer("test");
  const auto use = [&](std::uint64_t i) {
    const ClaimId id = numbered_id(i);
    const Claim claim{.name = "n" + std::to_string(i), .id = id, .call = id};
    observer->on_wait(claim);
    observer->on_granted({claim, Token(i)}, world.now() + 30s);
    observer->on_released({claim, Token(i)}, true);
  };
  for (std::uint64_t i = 1; i <= 1000; ++i) use(i);
  const std::string page = metrics.text();
  for (std::uint64_t i = 1001; i <= 100'000; ++i) use(i);
  EXPECT_LT(metrics.text().size(), page.size() + 1000);  // longer numbers
  EXPECT_EQ(of(metrics, "acquisitions_total", "(other)", outcome("granted")), 99'900);
  EXPECT_EQ(of(metrics, "locks_held", "(other)"), 0);
}

TEST_F(MetricsTest, AllIsPassedOn) {
  struct Next : Observer {
    void on_wait(const Claim&) override { heard += "wait "; }
    void on_retry(const Claim&, const Failure&) override { heard += "retry "; }
    void on_granted(const Hold&, BootTime) override { heard += "granted "; }
    void on_refused(const Claim&, const Failure&) override { heard += "refused "; }
    void on_renewed(const Hold&, BootTime) override { heard += "renewed "; }
    void on_renewal_failed(const Hold&, const Failure&) override { heard += "renewal_failed "; }
    void on_lost(const Hold&, BootTime) override { heard += "lost "; }
    void on_released(const Hold&, const Result<bool>&) override { heard += "released "; }
    void on_server(const ServerEvent& event) override {
      heard += server_event_name(event.kind) + std::string(" ");
    }
    void on_warning(const std::string& text) override { heard += text; }
    std::string heard;
  };
  const auto next = std::make_shared<Next>();
  const auto observer = metrics.observer("test", next);
  const Claim claim{.name = "x"};
  const Failure failure(Code::unreachable, "down");
  observer->on_wait(claim);
  observer->on_retry(claim, failure);
  observer->on_refused(claim, failure);
  observer->on_granted({claim, Token(1)}, {});
  observer->on_renewed({claim, Token(1)}, {});
  observer->on_renewal_failed({claim, Token(1)}, failure);
  observer->on_lost({claim, Token(1)}, {});
  observer->on_released({claim, Token(1)}, failure);
  observer->on_server({ServerEventKind::reconnected, "127.0.0.1:1"});
  observer->on_warning("warning");
  EXPECT_EQ(next->heard,
            "wait retry refused granted renewed renewal_failed lost released reconnected warning");
  EXPECT_EQ(parsed(metrics).at(R"(holdfast_warnings_total{engine="test"})"), 1);
  EXPECT_EQ(of(metrics, "releases_total", "x", outcome("unreachable")), 1);
}

TEST(Metrics, CountsThreadsOfSeveralClientsWhileItIsRead) {
  std::shared_ptr<Observer> observer;
  {
    Metrics metrics;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&metrics] {
        Client client = Client::open("memory:", {.observer = metrics.observer("test")}).value();
        for (int pair = 0; pair < 200; ++pair) {
          EXPECT_TRUE(client.mutex("x").acquire().ok());
        }
      });
    }
    for (int read = 0; read < 20; ++read) parsed(metrics);
    threads.clear();
    EXPECT_EQ(of(metrics, "acquisitions_total", "x", outcome("granted")), 800);
    EXPECT_EQ(of(metrics, "wait_seconds_count", "x", ",granted=\"true\""), 800);
    EXPECT_EQ(of(metrics, "hold_seconds_count", "x"), 800);
    EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
    observer = metrics.observer("test");
  }
  observer->on_wait({.name = "outlives the Metrics"});
}

}  // namespace
}  // namespace holdfast
