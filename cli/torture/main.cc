// holdfast-torture: the part of the holdfast command that starts real servers. A program of its
// own, so that `holdfast run`, which is started often, does not load what only this one needs.
// `holdfast torture …` runs it with the same words.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "commands.h"
#include "program.h"
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
  return parse_and_act(app, invocation, std::move(arguments), [&](const CLI::ParseError& error) {
    return invocation.session.fail(
        Failure(Code::invalid_argument,
                redact(error.what()) + std::string(" (see holdfast torture --help)")));
  });
}

}  // namespace
}  // namespace holdfast::cli

int main(int argc, char** argv) {
  return holdfast::cli::run_program(argc, argv, holdfast::cli::run);
}
