// The workloads on a database: Holdfast beside the bare statements.
#pragma once

#include "database.h"
#include "report.h"
#include "sql_plan.h"
#include "worker.h"

namespace holdfast::bench {

struct SqlSetting {
  const SqlPlan& plan;
  const SqlSystem& system;
  const Database& database;
  Report& report;
};

// A process on that CPU.
Worker start_ours(const SqlSetting& setting, const std::string& options, int cpu);
Worker start_raw(const SqlSetting& setting, const std::string& kind, int cpu);

struct Timing {
  double per_s;
  double p50_us;
};
// "pairs NAME" or "ping", for so long.
Timing timing(Worker& worker, const std::string& what, Seconds span);

std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to);

void measure_sql_pairs(const SqlSetting& setting);
void measure_sql_hand_off(const SqlSetting& setting);
void measure_sql_idle(const SqlSetting& setting);
void measure_sql_peers(const SqlSetting& setting);
void measure_sql_crowd(const SqlSetting& setting);
void measure_sql_held(const SqlSetting& setting);

}  // namespace holdfast::bench
