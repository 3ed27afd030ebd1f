// growth: does a hand-off take longer when more are waiting? Eight processes, each with more and more
// threads that want one lock and hold it for a millisecond.
#include "contest.h"
#include "workloads.h"

namespace holdfast::bench {

namespace {

constexpr int kProcesses = 8;

Contest::Outcome play(const Plan& plan, const Server& server, int waiters) {
  server.flush();
  ContestPlan contest_plan;
  contest_plan.processes = kProcesses;
  contest_plan.threads = waiters / kProcesses;
  contest_plan.hold = std::chrono::milliseconds(1);
  contest_plan.cpus = {plan.client_cpu};
  Contest contest(contest_plan, holdfast_contenders(plan.url));
  // Everybody has come to wait when the first have had their turns.
  const Seconds until_all_wait = plan.warm_up() + waiters * Seconds(0.0005);
  const Contest::Outcome outcome = contest.watch(until_all_wait, plan.contest_span / 2);
  contest.stop();
  return outcome;
}

}  // namespace

void measure_growth(const Plan& plan, const Server& server, Report& report) {
  Curve::Series p50{.name = "Holdfast", .points = {}};
  Curve::Series p99{.name = "Holdfast p99", .role = Role::peer, .points = {}};
  for (const int waiters : {8, 64, 512, 1000}) {
    if (waiters > plan.waiters) continue;
    p50.points.push_back({.x = static_cast<double>(waiters), .values = {}});
    p99.points.push_back({.x = static_cast<double>(waiters), .values = {}});
  }
  const int repetitions = std::min(plan.repetitions, 3);
  for (int i = 0; i < repetitions; ++i) {
    for (std::size_t at = 0; at < p50.points.size(); ++at) {
      const int waiters = static_cast<int>(p50.points[at].x);
      report.progress(format("%d waiters: repetition %d of %d", waiters, i + 1, repetitions));
      const Contest::Outcome outcome = play(plan, server, waiters);
      p50.points[at].values.push_back(outcome.p50_us);
      p99.points[at].values.push_back(outcome.p99_us);
    }
  }
  report.add(Curve{
      .name = "growth_waiters",
      .what = "gap p50, hold 1 ms",
      .x_what = "waiters in 8 processes",
      .unit = "us",
      .series = {p50, p99},
      .growth_at_most = {1.3},
      .detail = format("server on CPU %d, processes on CPU %d", plan.server_cpu, plan.client_cpu)});
}

}  // namespace holdfast::bench
