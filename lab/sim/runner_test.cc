#include "lab/sim/runner.h"

#include <gtest/gtest.h>

namespace holdfast::lab::sim {
namespace {

// Its schedules are what the test says.
class ScriptedWorkload final : public Workload {
 public:
  using Script = std::function<Outcome(const Order&)>;
  explicit ScriptedWorkload(Script script, std::vector<Expectation> expected = {},
                            Marks marks = {{"something", 1}})
      : script_(std::move(script)), marks_(std::move(marks)) {
    expectations_ = std::move(expected);
  }
  const char* name() const override { return "scripted"; }
  const char* summary() const override { return ""; }
  FaultSet faults() const override { return FaultSet(); }
  std::unique_ptr<Trial> start() const override { return std::make_unique<Scripted>(*this); }

 private:
  struct Scripted final : Trial {
    explicit Scripted(const ScriptedWorkload& its) : workload(its) {}
    Outcome run(const Order& order) override { return workload.script_(order); }
    Marks marks() const override { return workload.marks_; }
    const ScriptedWorkload& workload;
  };
  Script script_;
  Marks marks_;
};

RunLimits so_many(std::uint64_t schedules, unsigned threads = 1) {
  return {.first_seed = 1, .schedules = schedules, .time = {}, .threads = threads};
}

TEST(Runner, CountsEveryScheduleOnce) {
  const ScriptedWorkload quiet([](const Order&) { return Outcome(); });
  for (const unsigned threads : {1U, 4U}) {
    const RunResult result = run_workload(quiet, so_many(1003, threads));
    EXPECT_EQ(result.schedules, 1003U);
    EXPECT_FALSE(result.violation);
    EXPECT_TRUE(result.missing.empty());
    EXPECT_FALSE(result.partial);
  }
}

TEST(Runner, ReportsTheFirstViolationWithAsFewFaultsAsWillDo) {
  const ScriptedWorkload guilty([](const Order& order) {
    Outcome outcome;
    outcome.decisions = 10;
    const bool struck = !order.selection || order.selection->keeps(4);
    if (order.seed >= 40 && struck) outcome.find(Finding::overlap, "two of them");
    if (order.keep_history) outcome.history = {"given", "when", "then"};
    return outcome;
  });
  const RunResult result = run_workload(guilty, so_many(1000));
  ASSERT_TRUE(result.violation);
  EXPECT_EQ(result.violation->seed, 40U);
  EXPECT_EQ(result.violation->shrunk.text(), "4/64");
  EXPECT_EQ(result.violation->replay("scripted"), "scripted:40:4/64");
  EXPECT_EQ(result.violation->history.size(), 3U);
}

TEST(Runner, WhatIsExpectedIsNoViolationButMustOccur) {
  const auto script = [](FaultKind fault) {
    return [fault](const Order& order) {
      Outcome outcome;
      outcome.faults.add(fault);
      if (order.seed % 2 == 0) outcome.find(Finding::overlap, "two of them");
      return outcome;
    };
  };
  const std::vector<Expectation> expected = {
      {Finding::overlap, {FaultSet(FaultKind::server_jump)}, "clocks jump"},
      {Finding::stranded, {FaultSet()}, "whenever"}};
  const RunResult jumps =
      run_workload(ScriptedWorkload(script(FaultKind::server_jump), expected), so_many(100));
  EXPECT_FALSE(jumps.violation);
  EXPECT_EQ(jumps.found[static_cast<std::size_t>(Finding::overlap)], 50U);
  ASSERT_EQ(jumps.missing.size(), 1U);
  EXPECT_EQ(jumps.missing[0], "stranded, expected when whenever");
  const RunResult pauses =
      run_workload(ScriptedWorkload(script(FaultKind::client_pause), expected), so_many(100));
  EXPECT_TRUE(pauses.violation) << "that fault is no excuse";
}

TEST(Runner, AMarkThatStayedZeroIsMissing) {
  const ScriptedWorkload idle([](const Order&) { return Outcome(); }, {},
                              {{"grants", 5}, {"crashes", 0}});
  EXPECT_EQ(run_workload(idle, so_many(10)).missing, std::vector<std::string>{"crashes"});
}

TEST(Runner, KeepsWhatItHasWhenItIsStopped) {
  std::stop_source stop;
  const ScriptedWorkload endless([&](const Order& order) {
    if (order.seed == 100) stop.request_stop();
    return Outcome();
  });
  const RunResult result = run_workload(endless, so_many(1'000'000), stop.get_token());
  EXPECT_TRUE(result.partial);
  EXPECT_GE(result.schedules, 100U);
  EXPECT_LT(result.schedules, 1000U);
}

TEST(Runner, SaysHowLittleItKnows) {
  EXPECT_EQ(no_violation_in(1000), "no violation in 1000 runs (at most 0.003 at 95 %)");
  EXPECT_EQ(no_violation_in(3'000'000), "no violation in 3000000 runs (at most 1e-06 at 95 %)");
  EXPECT_EQ(no_violation_in(0), "no run");
}

TEST(Workloads, TheSameSeedIsTheSameSchedule) {
  for (const auto& workload : workloads()) {
    const Outcome once = replay(*workload, 11, Selection());
    const Outcome again = replay(*workload, 11, Selection());
    EXPECT_EQ(once.history, again.history) << workload->name();
    EXPECT_FALSE(once.history.empty()) << workload->name();
    EXPECT_NE(once.history, replay(*workload, 12, Selection()).history) << workload->name();
  }
}

// But for what needs no fault: a lease that is not renewed ends between a look and a write.
TEST(Workloads, AScheduleWithoutFaultsFindsNothing) {
  const auto none = Selection::parse("none");
  for (const auto& workload : workloads()) {
    const auto trial = workload->start();
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const Outcome outcome = trial->run({.seed = seed, .selection = &*none});
      for (int i = 0; i < kFindings; ++i) {
        const auto finding = static_cast<Finding>(i);
        if (finding == Finding::harm_bare || finding == Finding::harm_write_fence) continue;
        EXPECT_FALSE(outcome.has(finding))
            << workload->name() << ':' << seed << ": " << to_text(finding);
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::lab::sim
