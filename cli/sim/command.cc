// holdfast sim: runs the shipped code through seeded schedules of a simulated world.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <thread>

#include "commands.h"
#include "interrupt.h"
#include "lab/sim/mutants.h"
#include "lab/sim/report.h"
#include "secrets.h"
#include "sim/progress.h"
#include "sim/tables.h"

namespace holdfast::cli {
namespace {

namespace sim = lab::sim;

constexpr const char* kSimExamples = R"(Examples:
  holdfast sim                                 every workload, one minute in all
  holdfast sim redlock --minutes 10            one workload, ten minutes
  holdfast sim redis session --schedules 5000  two of them, so many schedules each
  holdfast sim --replay redis:42               what happens in schedule 42: given, when, then
  holdfast sim --mutants                       the mistakes of the literature: is each caught?
  holdfast sim --list                          the workloads, and what is expected of each

A schedule is a seed: it draws who is paused, cut off or crashes, what is lost, which clocks jump, and
the order of everything else. Lease, renewal and the quorum engine are the code that ships; the
servers are models. A star marks what is expected of that kind of lock; what is not expected is a
violation, and is shown with as few faults as will do.

Exit status: 0 no violation, 1 a violation (or a mutant that survives), 2 a fault or an expected
finding never happened, so that the run has tested too little; 64 bad usage.)";

struct SimOptions {
  std::vector<std::string> workloads;
  double minutes = 1;
  std::uint64_t schedules = 0;
  std::uint64_t seed = 1;
  unsigned threads = 0;
  std::string replay;
  bool mutants = false;
  bool list = false;
  bool marks = false;
};

Failure unknown_workload(const std::string& name) {
  std::string known;
  for (const auto& workload : sim::workloads()) {
    known += known.empty() ? "" : ", ";
    known += workload->name();
  }
  return Failure(Code::invalid_argument, "there is no workload " + quoted_word(name) +
                                             "; there are " + known + " (see holdfast sim --list)");
}

Result<std::vector<const sim::Workload*>> chosen(const SimOptions& options) {
  std::vector<const sim::Workload*> chosen;
  for (const std::string& name : options.workloads) {
    const sim::Workload* workload = sim::find_workload(name);
    if (!workload) return unknown_workload(name);
    chosen.push_back(workload);
  }
  if (!chosen.empty()) return chosen;
  for (const auto& workload : sim::workloads()) chosen.push_back(workload.get());
  return chosen;
}

class Simulation {
 public:
  Simulation(const Session& session, const SimOptions& options)
      : session_(session), options_(options) {
    limits_.first_seed = options.seed;
    limits_.threads = options.threads;
    if (limits_.threads == 0) limits_.threads = std::max(std::thread::hardware_concurrency(), 1U);
  }

  int run_workloads(const std::vector<const sim::Workload*>& workloads) {
    if (options_.schedules > 0) {
      limits_.schedules = options_.schedules;
    } else {
      const std::chrono::duration<double, std::ratio<60>> minutes(options_.minutes);
      const auto share = static_cast<Duration::rep>(workloads.size());
      limits_.time = std::chrono::duration_cast<Duration>(minutes) / share;
    }
    for (const sim::Workload* workload : workloads) {
      if (stopped()) break;
      results_.push_back(run(*workload));
    }
    return conclude();
  }

  int run_mutants() {
    limits_.schedules = options_.schedules > 0 ? options_.schedules : sim::kMutantSchedules;
    for (const sim::Mutant& mutant : sim::mutants()) {
      if (stopped()) break;
      results_.push_back(run(*mutant.workload));
    }
    const int signal = interrupt_.end();
    const bool partial = signal != 0;
    print_kill_table(session_, results_, options_.seed, partial);
    if (partial) return kSignalBase + signal;
    const bool all = std::all_of(results_.begin(), results_.end(),
                                 [](const auto& result) { return result.violation.has_value(); });
    return all ? kOk : kViolation;
  }

 private:
  bool stopped() const { return interrupt_.token().stop_requested(); }

  sim::RunResult run(const sim::Workload& workload) {
    ProgressLine line(!session_.json && isatty(STDERR_FILENO) == 1);
    const sim::Progress progress = [&line](const sim::Workload& which, std::uint64_t done) {
      line.show(which.name(), done);
    };
    return sim::run_workload(workload, limits_, interrupt_.token(), progress);
  }

  int conclude() {
    const int signal = interrupt_.end();
    const bool partial = signal != 0;
    print_results(session_, results_, {options_.seed, limits_.threads, partial, options_.marks});
    bool violated = false;
    bool too_little = false;
    for (const sim::RunResult& result : results_) {
      violated = violated || result.violation;
      too_little = too_little || !result.missing.empty();
    }
    if (violated) return kViolation;
    if (partial) return kSignalBase + signal;
    return too_little ? kTooLittle : kOk;
  }

  const Session& session_;
  const SimOptions& options_;
  Interrupt interrupt_;
  sim::RunLimits limits_;
  std::vector<sim::RunResult> results_;
};

// WORKLOAD:SEED[:SELECTION]
int replay(const Session& session, const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const sim::Workload* workload = sim::find_workload(name);
  if (!workload) workload = sim::find_mutant(name);
  if (!workload) return session.fail(unknown_workload(name));
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), seed);
  const std::string_view more(end, static_cast<std::size_t>(rest.data() + rest.size() - end));
  std::optional<sim::Selection> selection = sim::Selection();
  if (!more.empty()) {
    selection = more[0] == ':' ? sim::Selection::parse(std::string(more.substr(1))) : std::nullopt;
  }
  if (error != std::errc() || !selection) {
    return session.fail(Failure(Code::invalid_argument,
                                "--replay wants WORKLOAD:SEED or WORKLOAD:SEED:FAULTS, such as "
                                "redis:42 or redis:42:0,3/4; not " +
                                    quoted_word(text)));
  }
  const sim::Outcome outcome = sim::replay(*workload, seed, *selection);
  print_replay(session, *workload, outcome);
  return workload->violation_in(outcome) ? kViolation : kOk;
}

void add_options(CLI::App& command, SimOptions& options) {
  command.add_option("workload", options.workloads, "What to simulate (default: everything)")
      ->type_name("WORKLOAD");
  auto* minutes = command.add_option("--minutes", options.minutes, "How long, in all")
                      ->type_name("M")
                      ->check(CLI::Range(0.001, 100'000.0).description(""))
                      ->capture_default_str();
  command.add_option("--schedules", options.schedules, "How many schedules of each workload")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62).description(""))
      ->excludes(minutes);
  command.add_option("--seed", options.seed, "The first schedule; the others follow")
      ->type_name("S")
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Threads (default: one per processor)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U).description(""));
  auto* replayed =
      command.add_option("--replay", options.replay, "Show one schedule: WORKLOAD:SEED[:FAULTS]")
          ->type_name("SCHEDULE");
  auto* mutants = command.add_flag("--mutants", options.mutants, "Is each known mistake caught?");
  command.add_flag("--list", options.list, "The workloads, and what is expected of each");
  command.add_flag("--marks", options.marks, "Also show how often each thing happened");
  replayed->excludes(mutants);
}

int simulate(const Session& session, const SimOptions& options) {
  if (options.list) return print_workloads(session), kOk;
  if (!options.replay.empty()) return replay(session, options.replay);
  const Result<std::vector<const sim::Workload*>> workloads = chosen(options);
  if (!workloads) return session.fail(workloads.failure());
  Simulation simulation(session, options);
  return options.mutants ? simulation.run_mutants() : simulation.run_workloads(*workloads);
}

}  // namespace

void add_sim(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("sim", "Explore schedules of a simulated world");
  auto options = std::make_shared<SimOptions>();
  add_options(*command, *options);
  command->footer(kSimExamples);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return simulate(invocation.session, *options); };
  });
}

}  // namespace holdfast::cli
