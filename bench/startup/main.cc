// bench_startup: how long a command takes under a lock, from fork to its end: `holdfast run x -- true`
// beside `flock f true`, `true` alone and `etcdctl lock x true`, in turns.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "pass.h"
#include "report.h"
#include "samples.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace holdfast::bench {

namespace {

constexpr const char* kUsage = R"(usage: bench_startup HOLDFAST [OPTIONS]
  --repetitions N    1 to 100 (default 5)
  --runs N           of each command in a repetition (default 40)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

struct Plan {
  bool json = false;
  std::string holdfast;
  int repetitions = 5;
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

void run(const Plan& plan, const std::string& folder) {
  constexpr const char* kFlock = "flock f true";
  setenv("HOLDFAST_URL", ("sqlite://" + folder + "/locks.db").c_str(), 1);
  const std::vector<Command> commands{
      {"holdfast run x -- true", Role::ours, {plan.holdfast, "run", "x", "--", "true"}},
      {"true", Role::raw, {"true"}},
      {kFlock, Role::peer, {"flock", folder + "/file", "true"}}};
  Report report(plan.json);
  report.open("Start-up of a command under a lock, data in memory");
  Comparison all{.name = "start_up",
                 .what = "a command under a lock, from fork to its end",
                 .unit = "ms",
                 .better = Bar::Side::at_most,
                 .contestants = {},
                 .claims = {{kFlock, {Bar::Side::at_most, 3}}}};
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
  report.close();
}

[[noreturn]] void refuse() {
  std::fputs(kUsage, stderr);
  std::exit(64);
}

Plan parse(int argc, char** argv) {
  Plan plan;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const int number = i + 1 < argc ? std::atoi(argv[i + 1]) : 0;
    if (option == "--help" || option == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (option == "--json") {
      plan.json = true;
    } else if (option == "--quick") {
      plan.repetitions = 1;
      plan.runs = 3;
    } else if (option == "--repetitions" && number > 0) {
      plan.repetitions = number;
      ++i;
    } else if (option == "--runs" && number > 0) {
      plan.runs = number;
      ++i;
    } else if (!option.starts_with("-") && plan.holdfast.empty()) {
      plan.holdfast = option;
    } else {
      refuse();
    }
  }
  if (plan.holdfast.empty()) refuse();
  return plan;
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  const holdfast::bench::Plan plan = holdfast::bench::parse(argc, argv);
  std::string folder = "/dev/shm/holdfast-bench-XXXXXX";
  if (!mkdtemp(folder.data())) {
    std::perror(folder.c_str());
    return 1;
  }
  int status = 0;
  try {
    holdfast::bench::run(plan, folder);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_startup: %s\n", error.what());
    status = 1;
  }
  std::filesystem::remove_all(folder);
  return status;
}
