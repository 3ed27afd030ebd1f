// holdfast-torture: the part of the holdfast command that starts real servers. A program of its
// own, so that `holdfast run`, which is started often, does not load what only this one needs.
// `holdfast torture …` runs it with the same words.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "commands.h"
#include "secrets.h"
#include "torture/command.h"

namespace holdfast::cli {
namespace {

int run(std::vector<std::string> arguments) {
  Invocation invocation;
  invocation.session.json = std::ranges::count(arguments, "--json") > 0;
  CLI::App app("holdfast torture");
  app.name("holdfast");
  app.require_subcommand(1);
  app.add_option("--on", invocation.session.on, "Your own server instead: a URL, or @FILE with one")
      ->type_name("URL");
  app.add_flag("--json", invocation.session.json, "Print JSON");
  declare_torture(app, invocation);
  for (CLI::App* command : app.get_subcommands({})) command->fallthrough();
  try {
    std::ranges::reverse(arguments);  // As CLI11 wants it.
    app.parse(std::move(arguments));
    return invocation.action();
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return invocation.session.fail(Failure(
        Code::invalid_argument, error.what() + std::string(" (see holdfast torture --help)")));
  } catch (const LockError& error) {
    return invocation.session.fail(error.failure());
  } catch (const std::exception& error) {
    return invocation.session.fail("internal", std::string("internal error: ") + error.what(),
                                   kSoftware);
  }
}

}  // namespace
}  // namespace holdfast::cli

int main(int argc, char** argv) {
  std::vector<std::string> arguments = holdfast::cli::hide_arguments(argc, argv);
  if (!arguments.empty()) arguments.erase(arguments.begin());  // The program's own name.
  const int status = holdfast::cli::run(std::move(arguments));
  if (std::fflush(stdout) != 0 && status == 0) {
    std::perror("holdfast: cannot write the output");
    return holdfast::cli::kOutput;
  }
  return status;
}
