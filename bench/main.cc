// bench: one system beside what a program would do by hand and beside other libraries, on a server of its own.
// Each figure is the median of interleaved repetitions; each ratio is of two numbers taken side by side in one
// repetition. Ends with status 0 whatever the targets say, 1 if something failed.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string_view>

#include "crowd.h"
#include "disturbance.h"
#include "held.h"
#include "idle.h"
#include "our_worker.h"
#include "process.h"
#include "system.h"

namespace holdfast::bench {

namespace {

constexpr const char* kUsage = R"(usage: bench_systems SYSTEM [OPTIONS]
  SYSTEM: embedded, redis, redlock, memcached, zookeeper, etcd, postgres or mysql
  --only NAME        one workload: standard, crowd, idle, held; redis also reference, redlock also latency
  --nodes N          on N servers only (zookeeper, etcd: 1 or 3; default first 1, then 3)
  --repetitions N    1 to 100 (default 3)
  --seconds S        of one client in one repetition (default 0.5)
  --waiters N        in the crowd, at most (default 1000, memcached 64; a multiple of 8)
  --idle-waiters N   that wait while nothing happens (default 200; a multiple of 8)
  --leases N         held at the same time (default 100000, redlock 10000)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

const SystemKind* find_kind(std::string_view name) {
  const auto found = std::ranges::find(systems(), name, &SystemKind::name);
  return found == systems().end() ? nullptr : &*found;
}

Plan parse(const SystemKind& kind, int argc, char** argv) {
  Plan plan;
  plan.waiters = kind.most_waiters;
  plan.leases = kind.most_leases;
  const auto whole = [](int& to, int multiple = 1) {
    return [&to, multiple](double value) { to = static_cast<int>(value) / multiple * multiple; };
  };
  Arguments(kUsage)
      .basic(plan, {"standard", "crowd", "idle", "held", "reference", "latency"})
      .flag("--quick", [&] { plan.make_quick(); })
      .number("--nodes", 1, 9, [&](double n) { plan.nodes = {static_cast<int>(n)}; })
      .number("--waiters", 16, 8000, whole(plan.waiters, 8))
      .number("--idle-waiters", 8, 8000, whole(plan.idle_waiters, 8))
      .number("--leases", 100, 1e7, whole(plan.leases))
      .parse(argc, argv);
  if (plan.nodes.empty()) plan.nodes = kind.nodes;
  const std::vector<int> cpus = allowed_cpus();
  plan.server_cpu = cpus.front();
  plan.client_cpu = cpus.back();
  return plan;
}

// One system on some number of servers.
struct Setting {
  const SystemKind& kind;
  const Plan& plan;
  const System& system;
  Report& report;
  std::string where;   // for people: "3 servers"; empty for one
  std::string suffix;  // of names

  std::vector<std::string> our_command() const {
    return {"/proc/self/exe", "worker", "any", "holdfast", system.url()};
  }
};

void measure_standard(const Setting& setting) {
  const auto& [kind, plan, system, report, where, suffix] = setting;
  for (Division& division : system.divisions()) {
    if (!where.empty()) {
      // Three servers cannot be measured on the CPU time that a crowd of JVMs leaves.
      std::erase_if(division.entrants,
                    [](const Entrant& entrant) { return entrant.role == Role::peer; });
      division.standard = {.suffix = suffix, .where = where};
    }
    if (kind.pinned) division.standard.two_cpus = plan.server_cpu != plan.client_cpu;
    League league(
        {.repetitions = plan.repetitions, .span = 0.6 * plan.span, .warm_up = 3 * plan.span},
        {.url = system.single_url(),
         .flush = [&system = system] { system.flush(); },
         .commands_during = system.commands(),
         .cpu = plan.server_cpu,
         .processes = kind.pinned ? std::vector<pid_t>{} : system.processes()},
        std::move(division.entrants), report);
    play_standard(league, division.standard);
  }
}

void measure_crowd(const Setting& setting) {
  const auto& [kind, plan, system, report, where, suffix] = setting;
  const std::optional<ServerCounter> counter = system.counter();
  const bool counts = counter && counter->most_per_hand_off;
  const std::vector<CrowdPoint> points = bench::measure_crowd(
      {.suffix = suffix,
       .where = where,
       // (On several servers the two ends suffice.)
       .waiters = where.empty() ? CrowdPlan().waiters : std::vector<int>{8},
       .most = plan.waiters,
       .repetitions = plan.repetitions,
       .span = 1.4 * plan.span,
       .growth_at_most = system.growth_at_most()},
      setting.our_command(), report, [&system = system] { system.flush(); },
      counts ? difference_of(counter->value) : system.commands());
  const CrowdPoint& large = points.back();
  if (large.counted_each.empty()) return;
  const std::string what = counts ? counter->what : "commands";
  report.add({.name = "crowd_counted" + suffix,
              .what = format("%s per hand-off, %d waiters%s%s", what.c_str(), large.waiters,
                             where.empty() ? "" : ", ", where.c_str()),
              .values = large.counted_each,
              .target = at_most(counts ? *counter->most_per_hand_off : 3),
              .detail = format("%d waiters: %s; %d: %s", large.waiters, large.text().c_str(),
                               points.front().waiters, points.front().text().c_str()),
              .figures = {{"small", median(points.front().counted_each)}}});
}

void measure_idle(const Setting& setting) {
  const std::optional<ServerCounter> counter = setting.system.counter();
  const bool asks = counter && !counter->most_per_hand_off;
  bench::measure_idle({.waiters = setting.plan.idle_waiters,
                       .span = setting.plan.held_span,
                       .servers = setting.system.processes(),
                       .asked = asks ? counter->value : nullptr,
                       .asked_what = asks ? counter->what : "",
                       .delay = asks ? counter->delay : Seconds(0)},
                      setting.our_command(), setting.report);
}

void measure_held(const Setting& setting) {
  bench::measure_held({.most = setting.plan.leases,
                       .span = setting.plan.held_span,
                       .cpu = setting.kind.pinned ? setting.plan.client_cpu : kAnyCpu,
                       .most_percent = setting.system.renewal_percent_at_most()},
                      {.url = setting.system.url(),
                       .processes = setting.system.processes(),
                       .flush = [&] { setting.system.flush(); }},
                      setting.report);
}

void measure_workloads(const Setting& setting) {
  std::vector<std::pair<std::string, std::function<void()>>> workloads{
      {"standard", [&] { measure_standard(setting); }}, {"crowd", [&] { measure_crowd(setting); }}};
  if (setting.where.empty()) {
    workloads.emplace_back("idle", [&] { measure_idle(setting); });
    workloads.emplace_back("held", [&] { measure_held(setting); });
    for (System::Extra& extra : setting.system.extras()) {
      workloads.emplace_back(extra.name, [&, measure = std::move(extra.measure)] {
        measure(setting.plan, setting.report);
      });
    }
  }
  for (const auto& [name, measure] : workloads) {
    if (!setting.plan.wants(name)) continue;
    const std::vector<pid_t> servers = setting.system.processes();
    const Disturbance disturbance(servers);
    setting.report.attempt(name + setting.suffix, measure);
    if (!servers.empty()) {
      setting.report.note_disturbance(name + setting.suffix, disturbance.so_far());
    }
  }
}

std::string load_average() {
  std::string load;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

int run(const SystemKind& kind, const Plan& plan) {
  Report report(plan.json);
  const std::string load = load_average();
  const std::size_t cpus = allowed_cpus().size();
  for (const int nodes : plan.nodes) {
    report.progress("starting");
    if (kind.pinned) pin_to_cpu(plan.server_cpu);
    const std::unique_ptr<System> system = kind.start(nodes);
    if (kind.pinned) pin_to_cpu(plan.client_cpu);
    if (nodes == plan.nodes.front()) {
      report.open(format("%s, %zu CPUs, load %s before, %d repetition%s", system->title().c_str(),
                         cpus, load.c_str(), plan.repetitions, plan.repetitions == 1 ? "" : "s"),
                  system->keeps_data());
    }
    measure_workloads({.kind = kind,
                       .plan = plan,
                       .system = *system,
                       .report = report,
                       .where = nodes == 1 ? "" : format("%d servers", nodes),
                       .suffix = nodes == 1 ? "" : format("_%d", nodes)});
  }
  return report.close();
}

int be_worker(std::string_view system, const std::string& worker, const std::string& url) {
  if (worker == "holdfast") return be_our_worker(url);
  const SystemKind* const kind = find_kind(system);
  if (kind == nullptr || !kind->workers.contains(worker)) {
    std::fputs(kUsage, stderr);
    return 64;
  }
  return kind->workers.at(worker)(url);
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;  // NOLINT(google-build-using-namespace)
  if (argc == 5 && std::string_view(argv[1]) == "worker")
    return be_worker(argv[2], argv[3], argv[4]);
  const SystemKind* const kind = argc > 1 ? find_kind(argv[1]) : nullptr;
  if (kind == nullptr) {
    const bool asked = argc == 2 && std::string_view(argv[1]).starts_with("-");
    std::fputs(kUsage, asked ? stdout : stderr);
    return asked ? 0 : 64;
  }
  const Plan plan = parse(*kind, argc - 1, argv + 1);
  try {
    return run(*kind, plan);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_systems: %s\n", error.what());
    return 1;
  }
}
