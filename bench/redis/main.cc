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
  --repetitions N    1 to 100 (default 5)
  --seconds S        of one side in one repetition (default 1); a contest takes three times that
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
    {"pairs", &measure_pairs}, {"in-flight", &measure_in_flight}, {"hand-off", &measure_hand_off},
    {"crowd", &measure_crowd}, {"growth", &measure_growth},       {"renewal", &measure_renewal},
    {"peers", &measure_peers}, {"reference", &measure_reference},
};

[[noreturn]] void refuse() {
  std::fputs(kUsage, stderr);
  std::exit(64);
}

// A number from `least` to `most`, or the usage.
double number(const char* text, double least, double most) {
  char* end = nullptr;
  const double value = text ? std::strtod(text, &end) : 0;
  if (!text || end == text || *end != '\0' || !(value >= least && value <= most)) refuse();
  return value;
}

void set_option(Plan& plan, std::string_view option, const char* value) {
  if (option == "--only" && value) {
    plan.only = value;
  } else if (option == "--url" && value) {
    plan.url = value;
  } else if (option == "--repetitions") {
    plan.repetitions = static_cast<int>(number(value, 1, 100));
  } else if (option == "--seconds") {
    plan.span = Seconds(number(value, 0.01, 3600));
    plan.contest_span = 3 * plan.span;
  } else if (option == "--leases") {
    plan.leases = static_cast<int>(number(value, 1, 1e7));
  } else if (option == "--waiters") {
    plan.waiters = static_cast<int>(number(value, 16, 8000)) / 8 * 8;
  } else {
    refuse();
  }
}

Plan parse(int argc, char** argv) {
  Plan plan;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--help" || option == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (option == "--json") {
      plan.json = true;
    } else if (option == "--quick") {
      plan.make_quick();
    } else {
      set_option(plan, option, i + 1 < argc ? argv[i + 1] : nullptr);
      ++i;
    }
  }
  bool known = plan.only.empty();
  for (const Workload& workload : kWorkloads) known = known || workload.name == plan.only;
  if (!known) refuse();
  return plan;
}

std::string load_average() {
  std::string load;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

void run(Plan plan) {
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
    if (!plan.only.empty() && plan.only != workload.name) continue;
    const Disturbance disturbance({server.pid()});
    workload.measure(plan, server, report);
    report.note_disturbance(std::string(workload.name), disturbance.so_far());
  }
  report.close();
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
    holdfast::bench::run(plan);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_redis: %s\n", error.what());
    return 1;
  }
  return 0;
}
