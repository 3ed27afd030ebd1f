// For the tests of metrics: a parser of Prometheus' text format that is stricter than Prometheus (a page that it accepts,
// promtool accepts), and clients in a TestWorld.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "holdfast/metrics.h"
#include "holdfast/testing.h"

namespace holdfast::metrics_testing {

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

inline Samples parsed(const Metrics& metrics) { return Parser().parse(metrics.text()); }

// One sample of a mutex on engine "test", -1 if it is not there.
inline double of(const Metrics& metrics, const std::string& metric, const std::string& name,
                 const std::string& more = "") {
  const Samples samples = parsed(metrics);
  const auto found = samples.find("holdfast_" + metric + "{engine=\"test\",name=\"" + name +
                                  "\",mode=\"exclusive\"" + more + "}");
  return found == samples.end() ? -1 : found->second;
}

inline std::string outcome(const std::string& outcome) { return ",outcome=\"" + outcome + "\""; }

struct MetricsTest : testing::Test {
  Client client(std::shared_ptr<Observer> next = {}) {
    return world.client({.observer = metrics.observer("test", std::move(next))});
  }

  TestWorld world;
  Metrics metrics{{.clock = [this] { return world.now(); }}};
};

// The `number`-th of some ids.
inline ClaimId numbered_id(std::uint64_t number) {
  std::array<std::uint8_t, ClaimId::kBytes> bytes{};
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return ClaimId(bytes);
}

}  // namespace holdfast::metrics_testing
