// holdfast torture: what the faults of real life do to locks, on real servers.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.h"
#include "duration.h"
#include "interrupt.h"
#include "lab/timeline.h"
#include "lab/torture/client_process.h"
#include "lab/torture/pairs.h"
#include "lab/torture/torture.h"
#include "secrets.h"
#include "table.h"
#include "torture/command.h"

namespace holdfast::cli {
namespace {

using lab::Cell;
using lab::Profile;
using lab::Report;
using lab::Row;
using lab::Scenario;

constexpr const char* kTortureExamples = R"(Examples:
  holdfast torture --list                              what there is
  holdfast torture --scenario 1 --engine redis         one experiment
  holdfast torture --scenario 4 --engine redlock --repeat 50
  holdfast torture --all --report safety.html          all of it, as a page with pictures
  holdfast torture --pairs --engine redis              every two faults at a time
  holdfast torture --pairs --fault silent --fault restart
  holdfast torture --random --engine redis --seed 7 --duration 1m
  holdfast torture --server mysql-9.7 --engine mysql --all
  holdfast torture --on redis://127.0.0.1 --all        on your own server

It starts servers of its own, on loopback and in temporary directories, and ends them. On a server
of yours (--on) it leaves the server alone: only clients are stopped and killed there, on a lock
with a name of its own.

S safe; L safe, but nobody gets the lock while the fault lasts; V two holders or a lost update;
f the same with a fence that checks reads and writes (docs/FENCING.md); ? unknown.

Runs go on side by side (--jobs): most of them sleep. On a machine that is busy use fewer.

Exit status: 0 all as expected, 1 something is not, 64 bad usage, 69 no engine can be started,
130 ended by Ctrl-C (what was measured is printed, and marked as partial).)";

constexpr int kUnexpected = 1;

struct TortureOptions {
  std::vector<std::string> scenarios;
  std::vector<std::string> engines;
  std::vector<std::string> servers;
  bool all = false;
  bool list = false;
  bool random = false;
  bool pairs = false;
  std::vector<std::string> faults;
  unsigned repeat = 1;
  unsigned jobs = 2 * std::max(1U, std::thread::hardware_concurrency());
  std::uint64_t seed = 1;
  std::string duration = "20s";
  std::string report;
  std::string markdown;
  std::string svg;
  std::string history;
};

std::string known_engines() {
  std::string names;
  for (const Profile& profile : lab::profiles())
    names += (names.empty() ? "" : ", ") + profile.name;
  return names;
}

int list(const Session& session) {
  Table table({"#", "scenario", "engines"});
  Json rows = Json::array();
  for (const Scenario& scenario : lab::scenarios()) {
    std::string engines;
    Json names = Json::array();
    for (const Profile& profile : lab::profiles()) {
      if (!scenario.expected_of(profile)) continue;
      engines += (engines.empty() ? "" : " ") + profile.name;
      names.push_back(profile.name);
    }
    table.add({scenario.row.id, scenario.row.title, engines});
    rows.push_back({{"scenario", scenario.row.id},
                    {"title", scenario.row.title},
                    {"given", scenario.row.given},
                    {"when", scenario.row.when},
                    {"then", scenario.row.then},
                    {"engines", names}});
  }
  if (session.json) {
    session.print({{"scenarios", rows}});
  } else {
    std::fputs(table.text().c_str(), stdout);
  }
  return kOk;
}

std::string known_faults() {
  std::string names;
  for (const lab::Fault& fault : lab::faults()) names += (names.empty() ? "" : ", ") + fault.id;
  return names;
}

// They live as long as the program: plans point to them.
Result<void> add_pairs(const TortureOptions& options, lab::TorturePlan& plan) {
  if (options.random || options.all || !options.scenarios.empty()) {
    return Failure(Code::invalid_argument,
                   "--pairs is a list of its own: leave out --all, --scenario and --random");
  }
  std::vector<const lab::Fault*> chosen;
  for (const std::string& id : options.faults) {
    chosen.push_back(lab::find_fault(id));
    if (chosen.back() != nullptr) continue;
    return Failure(Code::invalid_argument,
                   "there is no fault " + quoted_word(id) + "; there are " + known_faults());
  }
  if (chosen.size() == 1) {
    return Failure(Code::invalid_argument, "one --fault is no pair: name two or more");
  }
  static std::vector<Scenario> pairs;
  pairs = lab::pairs_of(chosen);
  for (const Scenario& pair : pairs) plan.scenarios.push_back(&pair);
  return {};
}

Result<lab::TorturePlan> plan_of(const Session& session, const TortureOptions& options) {
  lab::TorturePlan plan{.repeat = options.repeat,
                        .jobs = options.jobs,
                        .pairs = options.pairs,
                        .random = options.random,
                        .seed = options.seed};
  if (!options.all && !options.random && !options.pairs && options.scenarios.empty() &&
      options.engines.empty()) {
    return Failure(Code::invalid_argument,
                   "say what to run: --all, --scenario N, --engine NAME, --pairs or --random (see "
                   "holdfast torture --list)");
  }
  if (!options.faults.empty() && !options.pairs) {
    return Failure(Code::invalid_argument, "--fault chooses among --pairs");
  }
  Result<Duration> duration = parse_duration("--duration", options.duration);
  if (!duration) return duration.failure();
  plan.duration = *duration;
  if (options.pairs) {
    if (Result<void> added = add_pairs(options, plan); !added) return added.failure();
  }
  for (const std::string& id : options.scenarios) {
    const Scenario* scenario = lab::find_scenario(id);
    if (scenario == nullptr) {
      return Failure(Code::invalid_argument,
                     "there is no scenario " + quoted_word(id) + " (see holdfast torture --list)");
    }
    plan.scenarios.push_back(scenario);
  }
  if (options.scenarios.empty() && !options.pairs) {
    for (const Scenario& scenario : lab::scenarios()) plan.scenarios.push_back(&scenario);
  }
  for (const std::string& name : options.engines) {
    const Profile* profile = lab::find_profile(name);
    if (profile == nullptr) {
      return Failure(Code::invalid_argument, "there is no engine " + quoted_word(name) +
                                                 " to start here; there are " + known_engines());
    }
    plan.engines.push_back(*profile);
  }
  if (session.on) {
    Result<std::string> url = session.url();
    if (!url) return url.failure();
    if (!plan.engines.empty()) {
      return Failure(
          Code::invalid_argument,
          "--on names your own server, --engine servers that are started here: choose one");
    }
    plan.engines.push_back(lab::profile_of_url(*url));
  } else if (options.engines.empty()) {
    plan.engines = lab::profiles();
  }
  return plan;
}

// The command that makes the same report again.
std::string command_text(const TortureOptions& options, const Session& session) {
  std::string text = "holdfast torture";
  if (session.on) text += " --on URL";
  if (options.all) text += " --all";
  if (options.pairs) text += " --pairs";
  for (const std::string& id : options.faults) text += " --fault " + id;
  for (const std::string& id : options.scenarios) text += " --scenario " + id;
  for (const std::string& name : options.engines) text += " --engine " + name;
  for (const std::string& name : options.servers) text += " --server " + name;
  if (options.random) {
    text += " --random --seed " + std::to_string(options.seed) + " --duration " + options.duration;
  }
  if (options.repeat != 1) text += " --repeat " + std::to_string(options.repeat);
  return text;
}

void show(const lab::TortureProgress& where) {
  std::fprintf(stderr, "\r\033[K%zu of %zu   %s on %s%s", where.run, where.runs,
               where.scenario.c_str(), where.engine.c_str(),
               where.as_expected ? "" : "   (not all as expected)");
}

std::string cell_text(const Cell* cell) {
  if (cell == nullptr) return "-";
  if (cell->tally.runs == 0) return "not run";
  const std::string measured = letters(cell->tally);
  return cell->differences().empty() ? measured : measured + " !";
}

void print_matrix(const Report& report) {
  std::vector<std::string> header{"#", "scenario"};
  if (report.pairs) header = {"faults"};
  header.insert(header.end(), report.engines.begin(), report.engines.end());
  Table table(header);
  for (const Row& row : report.rows) {
    std::vector<std::string> line{row.id};
    if (!report.pairs) line.push_back(row.title);
    for (const std::string& engine : report.engines) {
      line.push_back(cell_text(report.find(row.id, engine)));
    }
    table.add(line);
  }
  std::fputs(table.text().c_str(), stdout);
}

// One experiment: every question for itself.
void print_details(const Row& row, const std::string& engine, const Cell& cell) {
  std::printf("\nscenario %s on %s\n  given  %s\n  when   %s\n  then   %s\n", row.id.c_str(),
              for_terminal(engine).c_str(), row.given.c_str(), row.when.c_str(), row.then.c_str());
  for (const lab::Question question : lab::kQuestions) {
    std::printf("  %-36s %s\n", lab::question_title(question), cell.tally.text(question).c_str());
  }
  for (const std::string& text : cell.notes) std::printf("  %s\n", for_terminal(text).c_str());
}

void print_report(const Report& report) {
  print_matrix(report);
  if (report.cells().size() == 1) {
    print_details(report.rows.front(), report.engines.front(), report.cells().begin()->second);
  }
  for (const auto& [place, cell] : report.cells()) {
    for (const std::string& text : cell.differences()) {
      std::printf("! %s on %s: %s\n", place.first.c_str(), for_terminal(place.second).c_str(),
                  for_terminal(text).c_str());
    }
    for (const std::string& text : cell.troubles) {
      std::printf("? %s on %s: %s\n", place.first.c_str(), for_terminal(place.second).c_str(),
                  for_terminal(text).c_str());
    }
  }
  for (const std::string& warning : report.warnings)
    std::printf("%s\n", for_terminal(warning).c_str());
  const auto runs = static_cast<unsigned long long>(report.sum().runs);
  if (runs == 0) {
    std::puts("PARTIAL: ended before the end of its first run");
    return;
  }
  std::printf("%llu run%s%s%s\n", runs, runs == 1 ? "" : "s",
              report.as_expected() ? ", all as expected" : ", not all as expected",
              report.partial ? "; PARTIAL: ended before its end" : "");
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.flush();
  if (file) return {};
  return Failure(Code::misconfigured, "cannot write " + quoted_word(path));
}

const lab::KeptRun* most_telling(const Report& report, std::string& title) {
  const lab::KeptRun* best = nullptr;
  for (const auto& [place, cell] : report.cells()) {
    if (cell.kept.empty()) continue;
    const lab::KeptRun& run = cell.kept.front();
    if (best != nullptr && best->finding.lost_updates.size() >= run.finding.lost_updates.size()) {
      continue;
    }
    best = &run;
    title = "scenario " + place.first + " on " + place.second;
  }
  return best;
}

Result<void> write_files(const TortureOptions& options, const Report& report) {
  if (!options.report.empty()) {
    if (Result<void> done = write_file(options.report, report_html(report)); !done) return done;
  }
  if (!options.markdown.empty()) {
    if (Result<void> done = write_file(options.markdown, report_markdown(report)); !done) {
      return done;
    }
  }
  std::string title;
  const lab::KeptRun* run = most_telling(report, title);
  if (run == nullptr) return {};
  if (!options.svg.empty()) {
    const std::string picture = lab::timeline_svg(run->history, run->finding, title);
    if (Result<void> done = write_file(options.svg, picture); !done) return done;
  }
  if (!options.history.empty()) {
    std::string lines;
    for (const lab::Event& event : run->history) lines += lab::to_line(event) + "\n";
    return write_file(options.history, lines);
  }
  return {};
}

// Before any server starts, and while there is one thread.
void choose_servers(const std::vector<std::string>& servers) {
  if (servers.empty()) return;
  std::string list;
  for (const std::string& server : servers) list += (list.empty() ? "" : ",") + server;
  setenv("HOLDFAST_SERVER", list.c_str(), 1);
}

int torture(const Session& session, const TortureOptions& options) {
  choose_servers(options.servers);
  if (options.list) return list(session);
  Result<lab::TorturePlan> plan = plan_of(session, options);
  if (!plan) return session.fail(plan.failure());
  lab::prepare_torture();
  Interrupt interrupt;
  const bool chatty = !session.json && isatty(STDERR_FILENO) == 1;
  Report report = lab::run_torture(*plan, interrupt.token(), [&](const auto& where) {
    if (chatty) show(where);
  });
  if (chatty) std::fputs("\r\033[K", stderr);
  const int signal = interrupt.end();
  report.command = command_text(options, session);
  if (report.engines.empty()) {
    std::string why;
    for (const std::string& warning : report.warnings) why += (why.empty() ? "" : "; ") + warning;
    return session.fail(Failure(Code::unreachable, why.empty() ? "no engine to start" : why));
  }
  if (report.rows.empty()) {
    return session.fail(Failure(Code::invalid_argument,
                                "none of these scenarios has a meaning on these engines (see "
                                "holdfast torture --list)"));
  }
  if (session.json) {
    std::fputs(report_json(report).c_str(), stdout);
  } else {
    print_report(report);
  }
  if (Result<void> written = write_files(options, report); !written) {
    return session.fail(written.failure());
  }
  if (signal != 0) return kSignalBase + signal;
  return report.as_expected() ? kOk : kUnexpected;
}

void add_torture(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("torture", "Inject faults into real servers, and judge");
  auto options = std::make_shared<TortureOptions>();
  command->add_option("--scenario", options->scenarios, "Only these scenarios (may be repeated)")
      ->type_name("N")
      ->allow_extra_args(false);
  command->add_option("--engine", options->engines, "Only these engines (may be repeated)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command
      ->add_option("--server", options->servers,
                   "Another version of a server than the installed one, of those that "
                   "scripts/servers unpacked (may be repeated)")
      ->type_name("PRODUCT-VERSION")
      ->allow_extra_args(false);
  command->add_flag("--all", options->all, "Every scenario on every engine");
  command->add_flag("--list", options->list, "List the scenarios and the engines they run on");
  command->add_option("--repeat", options->repeat, "Runs of each experiment")
      ->type_name("N")
      ->check(CLI::Range(1U, 1'000'000U).description(""))
      ->capture_default_str();
  command->add_option("--jobs", options->jobs, "Runs at the same time")
      ->type_name("N")
      ->check(CLI::Range(1U, 1000U).description(""))
      ->capture_default_str();
  command->add_flag("--pairs", options->pairs, "Every two faults together instead of scenarios");
  command->add_option("--fault", options->faults, "Only pairs of these faults (may be repeated)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_flag("--random", options->random, "Random faults instead of scenarios");
  command->add_option("--seed", options->seed, "Which random faults")
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--duration", options->duration, "Length of a random run")
      ->type_name("DURATION")
      ->capture_default_str();
  command->add_option("--report", options->report, "Write a page with the verdicts and pictures")
      ->type_name("FILE");
  command->add_option("--markdown", options->markdown, "Write the table of verdicts")
      ->type_name("FILE");
  command->add_option("--svg", options->svg, "Write the picture of the most telling run")
      ->type_name("FILE");
  command->add_option("--history", options->history, "Write its history, a JSON object per line")
      ->type_name("FILE");
  command->footer(kTortureExamples);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return torture(invocation.session, *options); };
  });
}

// Of `torture` itself, not for people.
void add_torture_client(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand(lab::kClientCommand, "");
  command->group("");  // not in the help
  command->callback([&invocation] {
    invocation.action = [] { return lab::run_client_process(std::cin, std::cout); };
  });
}

}  // namespace

void declare_torture(CLI::App& app, Invocation& invocation) {
  add_torture(app, invocation);
  add_torture_client(app, invocation);
}

}  // namespace holdfast::cli
