// bench_startup: how long a command takes under a lock, from fork to its end, in turns: `holdfast run x
// -- true` beside `flock f true` and `true` alone; and on etcd beside `etcdctl lock x true`.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "arguments.h"
#include "data_folder.h"
#include "etcd_server.h"
#include "pass.h"
#include "report.h"
#include "samples.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace holdfast::bench {

namespace {

constexpr const char* kUsage = R"(usage: bench_startup HOLDFAST [OPTIONS]
  --repetitions N    1 to 100 (default 3)
  --runs N           of each command in a repetition (default 40)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

struct Plan : BasicPlan {
  std::string holdfast;
  int runs = 40;
};

struct Command {
  std::string name;
  Role role;
  std::vector<std::string> words;
};

// In milliseconds. Throws if it fails.
double time_once(const Command& command) {
  std::vector<std::string> words = command.words;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::int64_t begin = monotonic_ns();
  pid_t child = -1;
  if (posix_spawnp(&child, arguments.front(), nullptr, nullptr, arguments.data(), environ) != 0) {
    throw std::runtime_error(command.words.front() + " cannot be started");
  }
  int status = 0;
  waitpid(child, &status, 0);
  const std::int64_t end = monotonic_ns();
  if (status != 0) throw std::runtime_error(command.name + " failed");
  return static_cast<double>(end - begin) / 1e6;
}

// The median of each command, all in turns: what disturbs one disturbs the others as well.
std::vector<double> measure(const std::vector<Command>& commands, int runs) {
  std::vector<std::vector<double>> times(commands.size());
  for (int run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < commands.size(); ++i) times[i].push_back(time_once(commands[i]));
  }
  std::vector<double> medians;
  for (const std::vector<double>& each : times) medians.push_back(median(each));
  return medians;
}

// All of them in turns, as one comparison.
void compare(const Plan& plan, const std::vector<Command>& commands, Comparison all,
             Report& report) {
  for (const Command& each : commands) {
    all.contestants.push_back({.name = each.name, .role = each.role, .values = {}});
  }
  measure(commands, 3);  // Files that were not read yet.
  for (int i = 0; i < plan.repetitions; ++i) {
    report.progress(format("start-up: repetition %d of %d", i + 1, plan.repetitions));
    const std::vector<double> medians = measure(commands, plan.runs);
    for (std::size_t at = 0; at < medians.size(); ++at) {
      all.contestants[at].values.push_back(medians[at]);
    }
  }
  report.add(std::move(all));
}

void compare_embedded(const Plan& plan, Report& report) {
  constexpr const char* kFlock = "flock f true";
  const DataFolder folder;
  const std::string url =
      "sqlite://" + folder.path() + "/locks.db" + (on_disk() ? "?sync=full" : "");
  compare(plan,
          {{"holdfast run x -- true",
            Role::ours,
            {plan.holdfast, "--on", url, "run", "x", "--", "true"}},
           {"true", Role::raw, {"true"}},
           {kFlock, Role::peer, {"flock", folder.path() + "/file", "true"}}},
          {.name = "start_up",
           .what = "a command under a lock, from fork to its end",
           .unit = "ms",
           .better = Target::Side::at_most,
           .contestants = {},
           .targets = {at_most(3, kFlock)}},
          report);
}

void compare_etcd(const Plan& plan, Report& report) {
  const test::EtcdServer server;
  const std::string endpoints = server.url().substr(std::string_view("etcd://").size());
  compare(plan,
          {{"holdfast run x -- true",
            Role::ours,
            {plan.holdfast, "--on", server.url(), "run", "x", "--", "true"}},
           {"etcdctl lock x true",
            Role::peer,
            {"etcdctl", "--endpoints=" + endpoints, "lock", "x", "true"}}},
          {.name = "start_up_etcd",
           .what = "the same on etcd",
           .unit = "ms",
           .better = Target::Side::at_most,
           .contestants = {},
           .targets = {}},
          report);
}

int run(const Plan& plan) {
  Report report(plan.json);
  report.open("Start-up of a command under a lock");
  compare_embedded(plan, report);
  try {
    setenv("ETCDCTL_API", "3", 1);
    compare_etcd(plan, report);
  } catch (const std::exception& error) {
    report.note(std::string("etcd is left out: ") + error.what());
  }
  return report.close();
}

Plan parse(int argc, char** argv) {
  Plan plan;
  // The program comes first.
  if (argc > 1 && argv[1][0] != '-') plan.holdfast = argv[1];
  const int skip = plan.holdfast.empty() ? 0 : 1;
  const Arguments arguments =
      Arguments(kUsage)
          .basic(plan)
          .flag("--quick", [&] { plan.repetitions = 1, plan.runs = 3; })
          .number("--runs", 1, 10'000, [&](double value) { plan.runs = static_cast<int>(value); });
  arguments.parse(argc - skip, argv + skip);
  if (plan.holdfast.empty()) arguments.refuse();
  return plan;
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  const holdfast::bench::Plan plan = holdfast::bench::parse(argc, argv);
  try {
    return holdfast::bench::run(plan);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_startup: %s\n", error.what());
    return 1;
  }
}
