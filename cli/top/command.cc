#include "top/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <memory>

#include "duration.h"
#include "secrets.h"
#include "top/live.h"
#include "top/report.h"

namespace holdfast::cli {
namespace {

constexpr const char* kTopExamples = R"(Examples:
  holdfast top
  holdfast top --on redis://cache.example --on orders=postgres://app@db.example/app
  holdfast top --sort wait --filter backup/
  holdfast top --json --interval 10s >>locks.jsonl

Keys: q quits, arrows and Enter show one lock with its holders, its waiters in order and what happened
to it since top began, Esc goes back; / filters, e shows one engine; w, l, a and n sort by waiters,
longest wait, age and name; b breaks the lock once the token of its holder was typed; ? shows all keys.
A deadlock is a red line, and so is an engine that does not answer; the others go on.

Each engine is asked for its list once per interval, and less often if its answers take long. Where the
output is no terminal, or one that cannot move its cursor, it prints a table and ends. --json prints one
object per look, each on a line.

Exit status: 0; 64 bad usage, 69 (printed looks) an engine is unreachable, 78 bad configuration, 128 and
its number if a signal ended it.)";

struct TopOptions {
  std::string interval = "1s";
  std::string sort = "waiters";
  std::string filter;
  std::string engine;
  unsigned long count = 0;
  bool once = false;
  bool read_only = false;
};

Result<top::Settings> settings_of(const TopOptions& options, const std::vector<OpenPlace>& places) {
  top::Settings settings;
  const Result<Duration> interval = parse_duration("--interval", options.interval);
  if (!interval) return interval.failure();
  constexpr std::chrono::milliseconds kShortest{100};
  settings.interval =
      std::max(kShortest, std::chrono::duration_cast<std::chrono::milliseconds>(*interval));
  const Result<top::Sort> sort = top::parse_sort(options.sort);
  if (!sort) return sort.failure();
  settings.choice = {.sort = *sort, .filter = options.filter, .engine = {}};
  if (!options.engine.empty()) {
    const auto at = std::ranges::find(places, options.engine,
                                      [](const OpenPlace& each) { return each.place.name; });
    if (at == places.end()) {
      return Failure(Code::invalid_argument,
                     "--engine " + quoted_word(options.engine) + " is not among those of --on");
    }
    settings.choice.engine = static_cast<std::size_t>(at - places.begin());
  }
  settings.read_only = options.read_only;
  settings.count = options.count;
  return settings;
}

int watch(const Session& session, const TopOptions& options) {
  // Warnings would tear the screen; what an engine suffers from is a matter of `holdfast doctor`.
  Result<std::vector<OpenPlace>> places =
      open_places(session, [] { return std::make_shared<Observer>(); });
  if (!places) return session.fail(places.failure());
  Result<top::Settings> settings = settings_of(options, *places);
  if (!settings) return session.fail(settings.failure());
  const bool print = session.json || options.once || options.count > 0;
  const std::unique_ptr<top::Terminal> terminal = print ? nullptr : top::Terminal::open();
  if (terminal) return top::show_live(*places, *settings, *terminal);
  if (options.once || (!session.json && settings->count == 0)) settings->count = 1;
  // `holdfast top --json | head`.
  std::signal(SIGPIPE, SIG_DFL);
  return top::print_looks(session, *places, *settings);
}

}  // namespace

void add_top(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("top", "Watch locks in the terminal");
  auto options = std::make_shared<TopOptions>();
  command->add_option("--interval", options->interval, "How often to look")
      ->type_name("DURATION")
      ->capture_default_str();
  command->add_option("--sort", options->sort, "waiters, wait, age or name")
      ->type_name("ORDER")
      ->capture_default_str();
  command
      ->add_option("--filter", options->filter,
                   "Only locks with this in a name, label, owner or token")
      ->type_name("TEXT");
  command->add_option("--engine", options->engine, "Only locks of this engine")->type_name("NAME");
  CLI::Option* count =
      command->add_option("--count", options->count, "Print so many looks and end")->type_name("N");
  command->add_flag("--once", options->once, "Print one look and end")->excludes(count);
  command->add_flag("--read-only", options->read_only, "Break nothing");
  command->footer(kTopExamples);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return watch(invocation.session, *options); };
  });
}

}  // namespace holdfast::cli
