// Samples: several repetitions of one measurement.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace holdfast::bench {

using Seconds = std::chrono::duration<double>;

// REQUIRES for both: there is a value.
inline double quantile(std::vector<double> values, double q) {
  const auto place = static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<std::size_t>(place)];
}

inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }

}  // namespace holdfast::bench
