// Histogram of durations with about 3 % resolution, in memory that processes can share. One writer;
// readers at any time see a slightly old state.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "holdfast/time.h"

namespace holdfast::cli {

class Histogram {
 public:
  void record(Duration span) {
    auto& count =
        counts_[index_of(span.count() > 0 ? static_cast<std::uint64_t>(span.count()) : 0)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // 32 steps per power of two: what they stand for is off by 1/64 at most.
  static constexpr std::size_t kSteps = 32;
  static constexpr std::size_t kBuckets = 60 * kSteps;

  static constexpr std::size_t index_of(std::uint64_t value) {
    if (value < 2 * kSteps) return value;
    const auto shift = static_cast<std::size_t>(std::bit_width(value)) - 6;
    return shift * kSteps + (value >> shift);
  }
  // The middle of a bucket.
  static constexpr std::uint64_t value_of(std::size_t index) {
    if (index < 2 * kSteps) return index;
    const std::size_t shift = index / kSteps - 1;
    return ((index % kSteps + kSteps) << shift) + (std::uint64_t{1} << shift) / 2;
  }

  std::uint64_t count_at(std::size_t index) const {
    return counts_[index].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBuckets> counts_{};
};

// The sum of several histograms.
class Percentiles {
 public:
  Percentiles() : counts_(Histogram::kBuckets) {}

  void add(const Histogram& histogram) {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      counts_[i] += histogram.count_at(i);
      total_ += histogram.count_at(i);
    }
  }
  std::uint64_t total() const { return total_; }

  // The duration that the fraction `part` of all did not exceed, in µs. REQUIRES: total() > 0.
  double at_us(double part) const {
    const auto rank = static_cast<std::uint64_t>(part * static_cast<double>(total_ - 1));
    std::uint64_t seen = 0;
    std::size_t i = 0;
    while (i + 1 < counts_.size() && (seen += counts_[i]) <= rank) ++i;
    return static_cast<double>(Histogram::value_of(i)) / 1e3;
  }

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
};

}  // namespace holdfast::cli
