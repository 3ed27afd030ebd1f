// Times the operation that a worker repeats.
#pragma once

#include <string>
#include <vector>

#include "pass.h"
#include "report.h"
#include "samples.h"

namespace holdfast::bench {

// Calls `pair` for so long: "RATE P50_US".
template <class F>
std::string time_pairs(double seconds, F pair) {
  std::vector<double> times_us;
  const std::int64_t begin = monotonic_ns();
  const std::int64_t end = begin + static_cast<std::int64_t>(seconds * 1e9);
  std::int64_t before = begin;
  while (before < end) {
    pair();
    const std::int64_t after = monotonic_ns();
    times_us.push_back(static_cast<double>(after - before) / 1e3);
    before = after;
  }
  const double took_s = static_cast<double>(before - begin) / 1e9;
  return format("%.1f %.2f", static_cast<double>(times_us.size()) / took_s, median(times_us));
}

}  // namespace holdfast::bench
