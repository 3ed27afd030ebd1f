// Series: what is counted for one lock in one mode; EngineSeries: for an engine. Values; guarded by whoever owns them.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "holdfast/observer.h"
#include "holdfast/result.h"
#include "holdfast/time.h"

namespace holdfast::internal {

struct Bucket {
  Duration up_to;  // inclusive
  std::string_view label;
};

// From a free lock on the same machine to a job of an hour, two for each power of ten.
inline constexpr std::array<Bucket, 13> kBuckets{{
    {std::chrono::milliseconds(1), "0.001"},
    {std::chrono::milliseconds(3), "0.003"},
    {std::chrono::milliseconds(10), "0.01"},
    {std::chrono::milliseconds(30), "0.03"},
    {std::chrono::milliseconds(100), "0.1"},
    {std::chrono::milliseconds(300), "0.3"},
    {std::chrono::seconds(1), "1"},
    {std::chrono::seconds(3), "3"},
    {std::chrono::seconds(10), "10"},
    {std::chrono::seconds(30), "30"},
    {std::chrono::seconds(100), "100"},
    {std::chrono::seconds(600), "600"},
    {std::chrono::seconds(3600), "3600"},
}};

struct Histogram {
  // A negative span (a clock that is not the client's) counts as zero.
  void observe(Duration span) {
    span = std::max(span, Duration::zero());
    const auto* bucket =
        std::ranges::find_if(kBuckets, [&](auto& one) { return span <= one.up_to; });
    ++counts[static_cast<std::size_t>(bucket - kBuckets.begin())];
    seconds += std::chrono::duration<double>(span).count();
  }
  bool any() const {
    return std::ranges::any_of(counts, [](std::uint64_t count) { return count != 0; });
  }

  std::array<std::uint64_t, kBuckets.size() + 1>
      counts{};        // of each bucket alone; the last one: above all
  double seconds = 0;  // nanoseconds in 64 bits would overflow
};

inline constexpr std::size_t kCodes = static_cast<std::size_t>(Code::exhausted) + 1;

struct Outcomes {
  void fail(Code code) { ++failures[static_cast<std::size_t>(code)]; }

  std::uint64_t successes = 0;
  std::array<std::uint64_t, kCodes> failures{};
};

struct Series {
  std::string labels;  // as they are rendered: engine="redis",name="x",mode="exclusive"
  Outcomes acquisitions;
  std::uint64_t adopted = 0;
  Histogram granted_waits;
  Histogram refused_waits;
  Histogram holds;
  Histogram handovers;
  Outcomes renewals;
  Outcomes releases;
  Outcomes retries;  // failures only
  std::uint64_t losses = 0;
  // Gauges, counted when they are asked for.
  std::uint64_t held = 0;
  std::uint64_t waiting = 0;
};

inline constexpr std::size_t kServerEvents = static_cast<std::size_t>(ServerEventKind::error);

// Not by server: their addresses come and go with each failover, and would be series without bound.
struct EngineSeries {
  std::string labels;
  std::array<std::uint64_t, kServerEvents> connections{};  // all kinds of events but errors
  Outcomes server_errors;                                  // failures only
  std::uint64_t warnings = 0;
};

}  // namespace holdfast::internal
