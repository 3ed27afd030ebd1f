// Runner: runs the schedules of workloads on all processors, and says what came of them. The one
// place where runs are counted and judged, for the command and for the tests.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <stop_token>

#include "lab/sim/workload.h"

namespace holdfast::lab::sim {

struct RunLimits {
  std::uint64_t first_seed = 1;
  std::optional<std::uint64_t> schedules;  // of each workload
  std::optional<Duration> time;            // of each workload, by the clock on the wall
  unsigned threads = 1;
};

// The schedule in which a violation was found, as found and with as few faults as will do.
struct Violation {
  std::uint64_t seed = 0;
  Finding finding = Finding::overlap;
  std::string what;
  Selection shrunk;
  std::vector<std::string> history;  // of the shrunk schedule
  // WORKLOAD:SEED[:SELECTION]
  std::string replay(const std::string& workload) const;
};

struct RunResult {
  const Workload* workload = nullptr;
  std::uint64_t schedules = 0;
  double cpu_seconds = 0;
  // In how many schedules, expected or not.
  std::array<std::uint64_t, kFindings> found{};
  std::optional<Violation> violation;
  Marks marks;
  // Events that should have happened and did not, in words.
  std::vector<std::string> missing;
  bool partial = false;  // interrupted

  double schedules_per_minute() const {
    return cpu_seconds > 0 ? static_cast<double>(schedules) * 60 / cpu_seconds : 0;
  }
};

// Told now and then how many schedules have been run, from one of the threads.
using Progress = std::function<void(const Workload&, std::uint64_t)>;

// Ends at the first violation, at the limits, or when it is stopped.
RunResult run_workload(const Workload& workload, const RunLimits& limits, std::stop_token stop = {},
                       const Progress& progress = {});

// One schedule again, with its history.
Outcome replay(const Workload& workload, std::uint64_t seed, const Selection& selection);

// "no violation in 10000 runs (at most 0.03 % at 95 %)": the rule of three.
std::string no_violation_in(std::uint64_t schedules);

}  // namespace holdfast::lab::sim
