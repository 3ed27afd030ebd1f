// idle: what many cost who wait for one lock while nothing happens. The unit is the heartbeat that
// they are allowed: one question of each in a quarter of its ttl.
#include <thread>

#include "sql_workloads.h"

namespace holdfast::bench {

namespace {

constexpr int kProcesses = 8;

void measure_idle(const SqlSetting& setting, const std::string& name, const std::string& options) {
  const SqlPlan& plan = setting.plan;
  setting.report.progress(format("%d idle waiters, %s", plan.waiters, name.c_str()));
  Worker holder = start_ours(setting, options, plan.client_cpu);
  holder.ask("hold idle");
  std::vector<Worker> crowd;
  for (int i = 0; i < kProcesses; ++i) {
    crowd.push_back(start_ours(setting, options, plan.client_cpu));
  }
  const double ttl_ms = plan.idle_ttl.count() * 1e3;
  for (Worker& worker : crowd) {
    worker.ask(format("wait idle %d %.0f", plan.waiters / kProcesses, ttl_ms));
  }
  // All stand in the line, and that they came is counted.
  std::this_thread::sleep_for(std::max(plan.idle_ttl / 4, setting.database.counts_within()));
  const double before = setting.database.queries();
  std::this_thread::sleep_for(plan.idle_span);
  const double per_s = (setting.database.queries() - before) / plan.idle_span.count();
  holder.ask("drop");
  for (Worker& worker : crowd) worker.send("stop");
  for (Worker& worker : crowd) worker.answer();
  const double heartbeats = plan.waiters / (plan.idle_ttl.count() / 4);
  setting.report.add(
      {.name = "idle_" + name,
       .what =
           format("%s: queries of %d idle waiters; of their heartbeat", name.c_str(), plan.waiters),
       .values = {per_s / heartbeats},
       // They come when they like within a fifth, and the holder and this program ask as well.
       .bar = Bar{Bar::Side::at_most, 1.15},
       .detail = format("%.1f %s/s; one of each in %.1f s is %.1f/s", per_s,
                        setting.system.query_what.c_str(), plan.idle_ttl.count() / 4, heartbeats),
       .figures = {{"queries_per_s", per_s}, {"heartbeats_per_s", heartbeats}}});
}

}  // namespace

void measure_sql_idle(const SqlSetting& setting) {
  measure_idle(setting, "table", "recipe=table");
  for (const Side& side : setting.system.blocking) {
    if (side.bar) measure_idle(setting, side.name, side.options);
  }
}

}  // namespace holdfast::bench
