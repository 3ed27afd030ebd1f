#include "crowd.h"

#include <algorithm>
#include <stdexcept>

namespace holdfast::bench {

namespace {

constexpr int kProcesses = 8;

void add(CrowdPoint& point, const BoutOutcome& outcome) {
  if (outcome.hand_offs.count == 0) throw std::runtime_error("the crowd saw no hand-off");
  point.p50_us.push_back(outcome.hand_offs.p50_us);
  point.p99_us.push_back(outcome.hand_offs.p99_us);
  point.p999_us.push_back(outcome.hand_offs.p999_us);
  point.per_s.push_back(outcome.hand_offs.per_s);
  if (outcome.counted_each) point.counted_each.push_back(*outcome.counted_each);
}

Curve::Series series_of(const std::vector<CrowdPoint>& points, const char* name, Role role,
                        std::vector<double> CrowdPoint::* values) {
  Curve::Series series{.name = name, .role = role, .points = {}};
  for (const CrowdPoint& point : points) {
    series.points.push_back({static_cast<double>(point.waiters), point.*values});
  }
  return series;
}

}  // namespace

std::string CrowdPoint::text() const {
  return format("p50 %.0f, p99 %.0f, p99.9 %.0f us, %.0f owners/s", median(p50_us), median(p99_us),
                median(p999_us), median(per_s));
}

std::vector<CrowdPoint> measure_crowd(const CrowdPlan& plan,
                                      const std::vector<std::string>& command, Report& report,
                                      const std::function<void()>& flush,
                                      const CountDuring& count) {
  std::vector<CrowdPoint> points;
  for (const int waiters : plan.waiters) {
    if (waiters < plan.most) points.push_back({.waiters = waiters});
  }
  points.push_back({.waiters = plan.most});
  std::vector<Worker> workers;
  for (int i = 0; i < kProcesses; ++i) workers.emplace_back(command);
  for (int i = 0; i < plan.repetitions; ++i) {
    for (CrowdPoint& point : points) {
      report.progress(
          format("%d waiters: repetition %d of %d", point.waiters, i + 1, plan.repetitions));
      flush();
      // Everybody has come to wait when the first have had their turns.
      const Bout bout{.name = format("crowd-%d", point.waiters),
                      .threads = point.waiters / kProcesses,
                      .hold_us = 1000,
                      .warm_up = plan.span / 4 + point.waiters * Seconds(0.001),
                      .span = plan.span};
      add(point, play(workers, bout, count).value());
    }
  }
  report.add(Curve{.name = "growth_waiters" + plan.suffix,
                   .what = "gap, hold 1 ms" + (plan.where.empty() ? "" : ", " + plan.where),
                   .x_what = "waiters in 8 processes",
                   .unit = "us",
                   .series = {series_of(points, "Holdfast", Role::ours, &CrowdPoint::p50_us),
                              series_of(points, "Holdfast p99", Role::peer, &CrowdPoint::p99_us)},
                   .growth_at_most = plan.growth_at_most});
  return points;
}

}  // namespace holdfast::bench
