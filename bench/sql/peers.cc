// peers: the workloads that every group has, for each recipe and for the bare statements.
// crowd, held: of the table, which needs no connection for each lease and each waiter.
#include "crowd.h"
#include "held.h"
#include "sql_workloads.h"
#include "standard.h"

namespace holdfast::bench {

namespace {

Entrant raw_entrant(const SqlSetting& setting, const char* kind, const std::string& name,
                    Role role) {
  return {.name = name,
          .role = role,
          .command = {"/proc/self/exe", "raw-worker"},
          .url = format("%s:%d", kind, setting.database.port())};
}

Entrant our_entrant(const SqlSetting& setting, const std::string& recipe) {
  return {.name = "Holdfast " + recipe,
          .role = Role::ours,
          .command = {"/proc/self/exe", "worker"},
          .url = setting.database.url("recipe=" + recipe)};
}

}  // namespace

void measure_sql_peers(const SqlSetting& setting) {
  const SqlSystem& system = setting.system;
  const SqlPlan& plan = setting.plan;
  LeagueServer server{.url = setting.database.url(""), .cpu = plan.server_cpu};
  // (Statistics that come late say nothing about half a second.)
  if (setting.database.counts_within() < Seconds(5)) {
    server.commands_during = difference_of([&] { return setting.database.queries(); });
  }
  League league(
      {.repetitions = plan.repetitions, .span = 0.6 * plan.span, .warm_up = plan.span / 2}, server,
      {our_entrant(setting, "table"), our_entrant(setting, system.named_recipe),
       raw_entrant(setting, "named", system.named_what, Role::raw),
       raw_entrant(setting, "row", "FOR UPDATE", Role::raw),
       raw_entrant(setting, "poll", "polled table", Role::peer)},
      setting.report);
  play_standard(league, {.two_cpus = plan.server_cpu != plan.client_cpu});
}

void measure_sql_crowd(const SqlSetting& setting) {
  measure_crowd({.most = setting.plan.crowd,
                 .repetitions = setting.plan.repetitions,
                 .span = setting.plan.contest_span()},
                {"/proc/self/exe", "worker", setting.database.url("recipe=table")}, setting.report);
}

void measure_sql_held(const SqlSetting& setting) {
  measure_held(
      {.most = setting.plan.leases, .span = setting.plan.held_span, .cpu = setting.plan.client_cpu},
      {.url = setting.database.url("recipe=table"), .processes = setting.database.processes()},
      setting.report);
}

}  // namespace holdfast::bench
