// The holdfast command: understands the command line, runs one command, returns its status.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "commands.h"
#include "holdfast/version.h"
#include "launch.h"
#include "program.h"
#include "secrets.h"

namespace holdfast::cli {
namespace {

constexpr const char* kCommandExamples = R"(Examples:
  holdfast run nightly -- ./report.sh     run a command under a lock
  holdfast run nightly --once-per 1d -- ./report.sh
                                          on one machine per day
  holdfast ls                             who holds what
  holdfast top                            the same, live
  holdfast doctor                         whether the server can keep locks
  holdfast run --help                     everything about one command

The locks are kept where --on says, else where HOLDFAST_URL says, else in a file of your own
(~/.local/state/holdfast/locks.db). A password is best kept in a file: --on @FILE.

Exit status: 0 done, 64 bad usage, 69 engine unreachable, 75 not acquired in time, 76 lost or not
held, 78 bad configuration; see also `holdfast run --help`.)";

struct CommandEntry {
  const char* name;
  void (*add)(CLI::App&, Invocation&);
};
// In the order in which help shows them.
constexpr CommandEntry kCommands[] = {
    {"run", &add_run},         {"acquire", &add_acquire}, {"renew", &add_renew},
    {"release", &add_release}, {"ls", &add_ls},           {"show", &add_show},
    {"jobs", &add_jobs},       {"break", &add_break},     {"deadlocks", &add_deadlocks},
    {"doctor", &add_doctor},   {"engines", &add_engines}, {"schema", &add_schema},
    {"bench", &add_bench},
};
constexpr Program kPrograms[] = {
    {"serve", "Serve locks over HTTP, and a page that shows them", "holdfast-serve", "holdfast"},
    {"top", "Watch locks in the terminal", "holdfast-top", "holdfast"},
    {"sim", "Explore schedules of a simulated world", "holdfast-sim", "holdfast"},
    {"torture", "Inject faults into real servers, and judge", "holdfast-torture",
     "holdfast-torture"},
};

// All commands, or the one that `word` names: the options of the others would only cost time, and
// `run` is started often.
void declare_commands(CLI::App& app, Invocation& invocation, const std::string& word) {
  for (const CommandEntry& entry : kCommands) {
    if (entry.name == word) return entry.add(app, invocation);
  }
  for (const CommandEntry& entry : kCommands) entry.add(app, invocation);
  for (const Program& program : kPrograms) app.add_subcommand(program.word, program.help);
}

void declare(CLI::App& app, Invocation& invocation, const std::string& word) {
  app.name("holdfast");
  app.require_subcommand(1);
  add_on(app, invocation.session, kOnHelp);
  add_output(app, invocation.session);
  app.set_version_flag("--version", "holdfast " HOLDFAST_VERSION, "Print the version and exit");
  declare_commands(app, invocation, word);
  app.footer(kCommandExamples);
  // They are understood after the command too.
  for (CLI::App* command : app.get_subcommands({})) command->fallthrough();
}

// The word that names the command: the first that is neither an option nor the value of --on.
std::size_t find_command(const std::vector<std::string>& arguments) {
  std::size_t i = 0;
  while (i < arguments.size() && arguments[i].starts_with('-')) i += arguments[i] == "--on" ? 2 : 1;
  return i;
}

// Splits off what follows "--" in `run`. CLI11 would give a meaning of its own to some words of the
// command (it reads "{}" as an empty list).
void split_off_command(std::vector<std::string>& arguments, Invocation& invocation) {
  const std::size_t command = find_command(arguments);
  if (command >= arguments.size() || arguments[command] != "run") return;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes == arguments.end()) return;
  invocation.command.assign(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
}

int usage_error(const Invocation& invocation, const CLI::App& app, const std::string& word,
                const CLI::ParseError& error) {
  std::string help = "holdfast --help";
  std::string message = redact(error.what());
  const std::vector<CLI::App*> commands = app.get_subcommands();
  if (!commands.empty()) {
    help = "holdfast " + commands[0]->get_name() + " --help";
  } else if (!word.empty()) {
    message = "there is no command " + quoted_word(word);
  } else if (error.get_name() == "RequiredError") {
    message = "no command given";
  }
  return invocation.session.fail(Failure(Code::invalid_argument, message + " (see " + help + ")"));
}

int run(std::vector<std::string> arguments) {
  Invocation invocation;
  split_off_command(arguments, invocation);
  // Known before parsing: an error in the command line is JSON too.
  invocation.session.json = std::ranges::count(arguments, "--json") > 0;
  const std::size_t command = find_command(arguments);
  const std::string word = command < arguments.size() ? arguments[command] : "";
  for (const Program& program : kPrograms) {
    if (program.word == word) return launch(program, invocation.session, arguments);
  }
  CLI::App app("A distributed lock: one holder at a time, across processes and machines.");
  declare(app, invocation, word);
  return parse_and_act(app, invocation, std::move(arguments), [&](const CLI::ParseError& error) {
    return usage_error(invocation, app, word, error);
  });
}

}  // namespace
}  // namespace holdfast::cli

int main(int argc, char** argv) {
  return holdfast::cli::run_program(argc, argv, holdfast::cli::run);
}
