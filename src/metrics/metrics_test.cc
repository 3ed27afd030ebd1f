// Metrics of clients in a TestWorld, read back by a parser of Prometheus' text format that is stricter than Prometheus:
// a page that it accepts, promtool accepts.
#include "holdfast/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "holdfast/testing.h"
#include "metrics/exposition.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

// ---- The parser --------------------------------------------------------------------------------

// Samples by name and labels, as they are written.
using Samples = std::map<std::string, double>;

class Parser {
 public:
  Samples parse(const std::string& page) {
    EXPECT_TRUE(page.ends_with('\n'));
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) read(line);
    return samples_;
  }

 private:
  void read(const std::string& line) {
    static const std::regex help("# HELP ([a-z_]+) ([^\\\\]+)");
    static const std::regex type("# TYPE ([a-z_]+) (counter|gauge|histogram)");
    static const std::regex sample(
        R"re(([a-z_]+)\{([a-z]+="([^"\\]|\\["\\n])*"(,[a-z]+="([^"\\]|\\["\\n])*")*)\} (\S+))re");
    std::smatch part;
    if (std::regex_match(line, part, help)) {
      metric_ = part[1];
      EXPECT_TRUE(metrics_.insert(metric_).second) << "twice: " << line;
    } else if (std::regex_match(line, part, type)) {
      EXPECT_EQ(part[1], metric_) << line;
      type_ = part[2];
      EXPECT_EQ(type_ == "counter", metric_.ends_with("_total")) << line;
    } else if (std::regex_match(line, part, sample)) {
      EXPECT_TRUE(samples_.emplace(line.substr(0, line.rfind(' ')), std::stod(part[6])).second)
          << "twice: " << line;
      if (type_ == "histogram") {
        read_bucket(part[1], part[2], std::stod(part[6]));
      } else {
        EXPECT_EQ(part[1], metric_) << line;
      }
    } else {
      ADD_FAILURE() << "no line of the format: " << line;
    }
  }

  // Buckets go up in bound and count, the last one is +Inf and equals _count.
  void read_bucket(const std::string& name, const std::string& labels, double value) {
    if (name == metric_ + "_bucket") {
      const std::string bound = labels.substr(labels.rfind("le=\"") + 4);
      EXPECT_GT(std::stod(bound), bound_) << labels;
      EXPECT_GE(value, in_buckets_) << labels;
      bound_ = std::stod(bound);
      in_buckets_ = value;
    } else if (name == metric_ + "_count") {
      EXPECT_EQ(bound_, HUGE_VAL) << labels;
      EXPECT_EQ(value, in_buckets_) << labels;
      bound_ = in_buckets_ = -1;
    } else {
      EXPECT_EQ(name, metric_ + "_sum") << labels;
    }
  }

  Samples samples_;
  std::set<std::string> metrics_;
  std::string metric_;
  std::string type_;
  double bound_ = -1;
  double in_buckets_ = -1;
};

Samples parsed(const Metrics& metrics) { return Parser().parse(metrics.text()); }

// One sample of a mutex on engine "test", -1 if it is not there.
double of(const Metrics& metrics, const std::string& metric, const std::string& name,
          const std::string& more = "") {
  const Samples samples = parsed(metrics);
  const auto found = samples.find("holdfast_" + metric + "{engine=\"test\",name=\"" + name +
                                  "\",mode=\"exclusive\"" + more + "}");
  return found == samples.end() ? -1 : found->second;
}

std::string outcome(const std::string& outcome) { return ",outcome=\"" + outcome + "\""; }

struct MetricsTest : testing::Test {
  Client client(std::shared_ptr<Observer> next = {}) {
    return world.client({.observer = metrics.observer("test", std::move(next))});
  }

  TestWorld world;
  Metrics metrics{{.clock = [this] { return world.now(); }}};
};

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

TEST_F(MetricsTest, AHandleIsGrantedButNotHeldUntilItIsAdopted) {
  Client one = client();
  const Handle handle = one.mutex("x").acquire_detached({}).value();
  EXPECT_EQ(of(metrics, "acquisitions_total", "x", outcome("granted")), 1);
  EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
  Lease adopted = one.adopt(handle).value();
  EXPECT_EQ(of(metrics, "locks_held", "x"), 1);
  ASSERT_TRUE(adopted.release().ok());
  EXPECT_EQ(of(metrics, "locks_held", "x"), 0);
  EXPECT_EQ(of(metrics, "hold_seconds_count", "x"), 1);
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
  observer->on_warning("warning");
  EXPECT_EQ(next->heard, "wait retry refused granted renewed renewal_failed lost released warning");
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
