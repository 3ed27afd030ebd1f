#include "program.h"

#include <cstdio>
#include <exception>
#include <fstream>
#include <string_view>

#include "our_worker.h"
#include "process.h"
#include "workloads.h"

namespace holdfast::bench {

namespace {

std::string load_average() {
  std::string load;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

int measure(const Program& program, const SessionPlan& plan) {
  Report report(plan.json);
  report.open(format("%s, %zu CPUs, load %s before, %d repetition%s%s",
                     program.system.title.c_str(), allowed_cpus().size(), load_average().c_str(),
                     plan.repetitions, plan.repetitions == 1 ? "" : "s",
                     program.system.peer_command.empty()
                         ? format("; without %s", program.system.peer.c_str()).c_str()
                         : ""));
  for (const int nodes : plan.nodes) {
    report.progress(format("starting %d", nodes));
    const std::unique_ptr<Servers> servers = program.start(nodes);
    measure_workloads({.plan = plan,
                       .system = program.system,
                       .servers = *servers,
                       .report = report,
                       .where = nodes == 1 ? "1 server" : format("%d servers", nodes),
                       .suffix = nodes == 1 ? "" : format("_%d", nodes)});
  }
  return report.close();
}

}  // namespace

int run_program(Program program, int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "worker") return be_our_worker(argv[2]);
  if (argc == 3 && std::string_view(argv[1]) == "raw-worker") return program.be_raw_worker(argv[2]);
  const SessionPlan plan = parse_plan(program.name, argc, argv);
  program.system.our_command = {"/proc/self/exe", "worker"};
  program.system.raw_command = {"/proc/self/exe", "raw-worker"};
  try {
    return measure(program, plan);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program.name, error.what());
    return 1;
  }
}

}  // namespace holdfast::bench
