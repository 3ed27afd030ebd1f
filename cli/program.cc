#include "program.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "secrets.h"
#include "title.h"

namespace holdfast::cli {
namespace {

// A number below 3 that our parent closed would be given to a socket or a database of ours, into
// which our messages, or those of the command, would then be written.
void open_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest that is free, so this one.
    if (open("/dev/null", O_RDWR) != descriptor) std::_Exit(kSoftware);
  }
}

}  // namespace

int parse_and_act(CLI::App& app, Invocation& invocation, std::vector<std::string> words,
                  const std::function<int(const CLI::ParseError&)>& on_bad_usage) {
  try {
    std::ranges::reverse(words);  // As CLI11 wants it.
    app.parse(std::move(words));
    if (const auto log = invocation.session.log(); !log)
      return invocation.session.fail(log.failure());
    const int status = invocation.action();
    invocation.session.end_trace(status);
    return status;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return on_bad_usage(error);
  } catch (const LockError& error) {
    return invocation.session.fail(error.failure());
  } catch (const std::exception& error) {
    return invocation.session.fail("internal", std::string("internal error: ") + error.what(),
                                   kSoftware);
  }
}

void add_on(CLI::App& app, Session& session, const char* help) {
  // A callback gets the words unconverted: CLI11 would read a list into brackets (an address of IPv6).
  const CLI::callback_t keep = [&session](const CLI::results_t& words) {
    session.every_on = words;
    session.on = words.front();
    return true;
  };
  app.add_option("--on", keep, help)
      ->type_name("URL")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_output(CLI::App& app, Session& session) {
  app.add_flag("--json", session.json, "Print JSON");
  app.add_flag("-v,--verbose", session.verbose,
               "Tell on standard error what happens, as HOLDFAST_LOG=debug");
}

int run_command(const std::string& word, const char* on_help,
                void (*declare)(CLI::App& app, Invocation& invocation),
                std::vector<std::string> words) {
  Invocation invocation;
  // Known before parsing: an error in the command line is JSON too.
  invocation.session.json = std::ranges::count(words, "--json") > 0;
  CLI::App app("holdfast " + word, "holdfast");
  app.require_subcommand(1);
  add_on(app, invocation.session, on_help);
  add_output(app, invocation.session);
  declare(app, invocation);
  for (CLI::App* command : app.get_subcommands({})) command->fallthrough();
  return parse_and_act(app, invocation, std::move(words), [&](const CLI::ParseError& error) {
    return invocation.session.fail(Failure(
        Code::invalid_argument, redact(error.what()) + " (see holdfast " + word + " --help)"));
  });
}

int run_program(int argc, char** argv, int (*run)(std::vector<std::string> words)) {
  open_standard_descriptors();
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &ignore, &file_size_signal);
  remember_title_room(argc, argv);
  std::vector<std::string> words = hide_arguments(argc, argv);
  if (!words.empty()) words.erase(words.begin());  // The program's own name.
  const int status = run(std::move(words));
  if (std::fflush(stdout) != 0 && status == 0) {
    std::perror("holdfast: cannot write the output");
    return kOutput;
  }
  return status;
}

}  // namespace holdfast::cli
