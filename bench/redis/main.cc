// bench_redis: the Redis engine beside what a program would do by hand with hiredis, in one run,
// on a redis-server of its own. Each figure is the median of interleaved repetitions; each ratio is
// of two numbers taken side by side in one repetition. Ends with status 0 whatever the bars say.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string_view>

#include "disturbance.h"
#include "our_worker.h"
#include "process.h"
#include "raw_worker.h"
#include "workloads.h"

namespace holdfast::bench {

namespace {

constexpr const char* kUsage = R"(usage: bench_redis [OPTIONS]
  --only NAME        one workload: pairs, in-flight, hand-off, crowd, growth, renewal, reference,
                     peers
  --repetitions N    1 to 100 (default 3)
  --seconds S        of one side in one repetition (default 0.5); a contest takes twice that
  --leases N         held at the same time (default 100000)
  --waiters N        in the crowd (default 1000; a multiple of 8)
  --quick            a smoke run of a few seconds; its figures mean little
  --json             one JSON object instead of the table
  --url URL          what Holdfast opens instead of our own server: to try out this program
)";

struct Workload {
  std::string_view name;
  void (*measure)(const Plan&, const Server&, Report&);
};
constexpr Workload kWorkloads[] = {
    {"pairs", &measure_pairs},   {"in-flight", &measure_in_flight}, {"hand-off", &measure_hand_off},
    {"crowd", &measure_waiting}, {"growth", &measure_growth},       {"renewal", &measure_renewal},
    {"peers", &measure_peers},   {"reference", &measure_reference},
};

Plan parse(int argc, char** argv) {
  Plan plan;
  std::vector<std::string> names;
  for (const Workload& workload : kWorkloads) names.emplace_back(workload.name);
  Arguments(kUsage)
      .basic(plan, names)
      .flag("--quick", [&] { plan.make_quick(); })
      .number("--leases", 1, 1e7, [&](double value) { plan.leases = static_cast<int>(value); })
      .number("--waiters", 16, 8000, [&](double n) { plan.waiters = static_cast<int>(n) / 8 * 8; })
      .word("--url", [&](const std::string& url) { return plan.url = url, true; })
      .parse(argc, argv);
  return plan;
}

std::string load_average() {
  std::string load;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

int run(Plan plan) {
  const std::vector<int> cpus = allowed_cpus();
  plan.server_cpu = cpus.front();
  plan.client_cpu = cpus.back();
  pin_to_cpu(plan.client_cpu);
  const std::string load = load_average();
  const Server server(plan.server_cpu);
  if (plan.url.empty()) plan.url = server.url();
  Report report(plan.json);
  report.open(format("Redis %s, Holdfast on %s, %zu CPUs, load %s before, %d repetition%s",
                     server.version().c_str(), plan.url.c_str(), cpus.size(), load.c_str(),
                     plan.repetitions, plan.repetitions == 1 ? "" : "s"));
  for (const Workload& workload : kWorkloads) {
    if (!plan.wants(workload.name)) continue;
    const Disturbance disturbance({server.pid()});
    report.attempt(std::string(workload.name), [&] { workload.measure(plan, server, report); });
    report.note_disturbance(std::string(workload.name), disturbance.so_far());
  }
  return report.close();
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "worker") {
    return holdfast::bench::be_our_worker(argv[2]);
  }
  if (argc == 3 && std::string_view(argv[1]) == "raw-worker") {
    return holdfast::bench::be_raw_worker(argv[2]);
  }
  const holdfast::bench::Plan plan = holdfast::bench::parse(argc, argv);
  try {
    return holdfast::bench::run(plan);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_redis: %s\n", error.what());
    return 1;
  }
}
