#include <cstdio>
#include <exception>
#include <fstream>
#include <string_view>

#include "database.h"
#include "our_worker.h"
#include "process.h"
#include "raw_worker.h"
#include "sql_workloads.h"

namespace holdfast::bench {

namespace {

std::string load_average() {
  std::string load;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

int measure(const SqlProgram& program, SqlPlan plan) {
  struct Workload {
    std::string_view name;
    void (*measure)(const SqlSetting&);
  };
  constexpr Workload kWorkloads[] = {
      {"pairs", &measure_sql_pairs}, {"hand-off", &measure_sql_hand_off},
      {"idle", &measure_sql_idle},   {"peers", &measure_sql_peers},
      {"crowd", &measure_sql_crowd}, {"held", &measure_sql_held}};
  const std::vector<int> cpus = allowed_cpus();
  plan.server_cpu = cpus.front();
  plan.client_cpu = cpus.back();
  Report report(plan.json);
  report.open(format("%s, %zu CPUs, load %s before, %d repetition%s", program.system.title.c_str(),
                     cpus.size(), load_average().c_str(), plan.repetitions,
                     plan.repetitions == 1 ? "" : "s"));
  pin_to_cpu(plan.server_cpu);
  const std::unique_ptr<Database> database = program.start();
  pin_to_cpu(plan.client_cpu);
  const SqlSetting setting{
      .plan = plan, .system = program.system, .database = *database, .report = report};
  for (const Workload& workload : kWorkloads) {
    if (!plan.wants(workload.name)) continue;
    const std::vector<pid_t> servers = database->processes();
    const Disturbance disturbance(servers);
    report.attempt(std::string(workload.name), [&] { workload.measure(setting); });
    if (!servers.empty()) {
      report.note_disturbance(std::string(workload.name), disturbance.so_far());
    }
  }
  return report.close();
}

}  // namespace

int run_sql_program(const SqlProgram& program, int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "worker") return be_our_worker(argv[2]);
  if (argc == 3 && std::string_view(argv[1]) == "raw-worker") {
    return be_raw_worker(program.make_raw, argv[2]);
  }
  const SqlPlan plan = parse_sql_plan(program.name, argc, argv);
  try {
    return measure(program, plan);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program.name, error.what());
    return 1;
  }
}

}  // namespace holdfast::bench
