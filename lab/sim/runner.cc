#include "lab/sim/runner.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <thread>

#include "lab/sim/shrink.h"

namespace holdfast::lab::sim {

namespace {

using Clock = std::chrono::steady_clock;

double cpu_seconds_of_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Run {
 public:
  Run(const Workload& workload, const RunLimits& limits, std::stop_token stop,
      const Progress& progress)
      : workload_(workload), limits_(limits), stop_(std::move(stop)), progress_(progress) {
    result_.workload = &workload;
    if (limits.time) end_ = Clock::now() + *limits.time;
  }

  RunResult run() {
    {
      std::vector<std::jthread> others;
      for (unsigned i = 1; i < limits_.threads; ++i) others.emplace_back([this] { work(); });
      work();
    }
    result_.partial = stop_.stop_requested() && !over_limits();
    if (result_.violation) explain(*result_.violation);
    look_for_what_is_missing();
    return std::move(result_);
  }

 private:
  static constexpr std::uint64_t kChunk = 16;

  bool over_limits() const {
    return (limits_.schedules && next_ >= *limits_.schedules) || (end_ && Clock::now() >= *end_);
  }

  void work() {
    const double begin = cpu_seconds_of_thread();
    const std::unique_ptr<Trial> trial = workload_.start();
    while (!stop_.stop_requested() && !failed_) {
      if (end_ && Clock::now() >= *end_) break;
      const std::uint64_t from = next_.fetch_add(kChunk);
      std::uint64_t count = kChunk;
      if (limits_.schedules) {
        if (from >= *limits_.schedules) break;
        count = std::min(count, *limits_.schedules - from);
      }
      run_chunk(*trial, limits_.first_seed + from, count);
      if (progress_) progress_(workload_, done_.load());
    }
    const std::lock_guard lock(mutex_);
    result_.cpu_seconds += cpu_seconds_of_thread() - begin;
    add(trial->marks());
  }

  void run_chunk(Trial& trial, std::uint64_t first, std::uint64_t count) {
    std::array<std::uint64_t, kFindings> found{};
    std::uint64_t run = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      const Outcome outcome = trial.run({.seed = seed});
      ++run;
      for (int i = 0; i < kFindings; ++i) {
        if (outcome.has(static_cast<Finding>(i))) ++found[static_cast<std::size_t>(i)];
      }
      if (const Finding* violation = workload_.violation_in(outcome)) {
        report(seed, *violation, outcome);
        break;
      }
    }
    done_ += run;
    const std::lock_guard lock(mutex_);
    result_.schedules += run;
    for (std::size_t i = 0; i < found.size(); ++i) result_.found[i] += found[i];
  }

  // The lowest seed is reported, so that it does not depend on how the threads took turns.
  void report(std::uint64_t seed, Finding finding, const Outcome& outcome) {
    failed_ = true;
    const std::lock_guard lock(mutex_);
    if (result_.violation && result_.violation->seed < seed) return;
    Violation violation;
    violation.seed = seed;
    violation.finding = finding;
    violation.what = outcome.what(finding);
    violation.shrunk = Selection::first(outcome.decisions);
    result_.violation = std::move(violation);
  }

  void add(const Marks& marks) {
    if (result_.marks.empty()) {
      result_.marks = marks;
      return;
    }
    for (std::size_t i = 0; i < marks.size(); ++i) result_.marks[i].count += marks[i].count;
  }

  void explain(Violation& violation) const {
    const auto fails = [&](const Selection& selection) {
      const Outcome outcome = workload_.start()->run(
          {.seed = violation.seed, .selection = &selection, .keep_history = false});
      return outcome.has(violation.finding) && !workload_.expects(violation.finding, outcome);
    };
    violation.shrunk = shrink(violation.shrunk.size(), fails);
    violation.history = replay(workload_, violation.seed, violation.shrunk).history;
  }

  void look_for_what_is_missing() {
    if (result_.violation || result_.schedules == 0) return;
    for (const Mark& mark : result_.marks) {
      if (mark.count == 0) result_.missing.emplace_back(mark.name);
    }
    for (const Expectation& expected : workload_.expectations()) {
      const bool seen = result_.found[static_cast<std::size_t>(expected.finding)] > 0;
      if (seen || !expected.must_occur) continue;
      result_.missing.push_back(std::string(to_text(expected.finding)) + ", expected when " +
                                expected.when);
    }
  }

  const Workload& workload_;
  const RunLimits& limits_;
  std::stop_token stop_;
  const Progress& progress_;
  std::optional<Clock::time_point> end_;
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  RunResult result_;
};

}  // namespace

std::string Violation::replay(const std::string& workload) const {
  return workload + ':' + std::to_string(seed) + ':' + shrunk.text();
}

RunResult run_workload(const Workload& workload, const RunLimits& limits, std::stop_token stop,
                       const Progress& progress) {
  return Run(workload, limits, std::move(stop), progress).run();
}

Outcome replay(const Workload& workload, std::uint64_t seed, const Selection& selection) {
  return workload.start()->run({.seed = seed, .selection = &selection, .keep_history = true});
}

std::string no_violation_in(std::uint64_t schedules) {
  if (schedules == 0) return "no run";
  char bound[32];
  std::snprintf(bound, sizeof bound, "%.2g", 3.0 / static_cast<double>(schedules));
  return "no violation in " + std::to_string(schedules) + " runs (at most " + bound + " at 95 %)";
}

}  // namespace holdfast::lab::sim
