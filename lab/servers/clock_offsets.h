// The mapped file that a test shares with the clocks and the disk that it disturbs.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::test {

// The environment variable that names the file.
inline constexpr const char* kClockVariable = "HOLDFAST_TEST_CLOCK";

struct ClockOffsets {
  std::atomic<std::int64_t> wall_us;
  std::atomic<std::int64_t> monotonic_us;
  std::atomic<std::int64_t> disk_stalls;  // not 0: fsync() and its like do not return
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

}  // namespace holdfast::test
