// holdfast deadlocks: owners that wait for each other, across engines.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.h"
#include "deadlock_info.h"
#include "look.h"
#include "shell_word.h"
#include "warning_printer.h"

namespace holdfast::cli {
namespace {

constexpr const char* kDeadlocksExamples = R"(Examples:
  holdfast deadlocks
  holdfast deadlocks --on redis://cache.example --on @/etc/app/postgres.url
  holdfast deadlocks --on stock=redis://a.example --on orders=redis://b.example
  holdfast --json deadlocks | jq -r '.deadlocks[].youngest'

Owners wait for each other in a circle: each holds what the next one waits for, so none of them can go
on. An owner is a client of the library, or what ClientOptions::owner, LockOptions::owner, --owner or
HOLDFAST_OWNER names; only those that name owners alike in all engines are found across engines. It
looks twice, and tells of what was so both times. It breaks nothing: it names the owner whose wait
began last, and the command that would end that one's hold.

An owner that waits for what it holds itself is told as possible, for another of its threads may hold
it. Claims of programs that are no clients of Holdfast have no owner and are left out.

Exit status: 0 none found, 1 found (one that is only possible does not count), 64 bad usage, 69 none
found, but an engine is unreachable, 78 bad configuration.)";

// Long enough that what changes hands all the time is seen to, short enough to wait for.
constexpr std::chrono::milliseconds kBetweenLooks{200};

struct Survey {
  std::vector<Deadlock> deadlocks;
  std::vector<Look::Unseen> unseen;
};

Survey survey(std::vector<OpenPlace>& places) {
  std::vector<OpenPlace*> asked;
  for (OpenPlace& each : places) asked.push_back(&each);
  Look before = look_at(asked);
  Survey found{.deadlocks = {}, .unseen = std::move(before.unseen)};
  // One that is there was there in the first look already.
  if (find_deadlocks(before.seen).empty()) return found;
  std::erase_if(asked, [&](const OpenPlace* each) {
    return std::ranges::find(found.unseen, each->place.name, &Look::Unseen::engine) !=
           found.unseen.end();
  });
  std::this_thread::sleep_for(kBetweenLooks);
  Look after = look_at(asked);
  std::ranges::move(after.unseen, std::back_inserter(found.unseen));
  found.deadlocks = confirmed(before.seen, after.seen);
  return found;
}

// How the user would name this engine again.
OptionsFor options_of(const std::vector<OpenPlace>& places) {
  return [&places](const std::string& engine) -> std::string {
    const auto at =
        std::ranges::find(places, engine, [](const OpenPlace& each) { return each.place.name; });
    if (at == places.end() || at->place.given.empty()) return {};
    return " --on " + shell_word(at->place.given);
  };
}

int status_of(const Survey& survey) {
  const auto is_certain = [](const Deadlock& each) { return !each.only_possible; };
  if (std::ranges::any_of(survey.deadlocks, is_certain)) return kViolation;
  return survey.unseen.empty() ? int{kOk} : int{exit_status_of(survey.unseen[0].why.code())};
}

void print_json(const Session& session, const Survey& survey) {
  Json object = {{"deadlocks", Json::array()}};
  for (const Deadlock& each : survey.deadlocks) object["deadlocks"].push_back(to_json(each));
  object["unreachable"] = Json::array();
  for (const Look::Unseen& each : survey.unseen) {
    object["unreachable"].push_back(
        {{"engine", each.engine}, {"error", describe_failure(each.why)}});
  }
  session.print(object);
}

int deadlocks(const Session& session) {
  Result<std::vector<OpenPlace>> places =
      open_places(session, [] { return std::make_shared<WarningPrinter>(); });
  if (!places) return session.fail(places.failure());
  const Survey found = survey(*places);
  if (session.json) {
    print_json(session, found);
    return status_of(found);
  }
  for (const Look::Unseen& each : found.unseen) {
    session.warn(each.engine + ": " + each.why.message());
  }
  for (const Deadlock& each : found.deadlocks) {
    std::fputs(deadlock_text(each, options_of(*places)).c_str(), stdout);
  }
  if (found.deadlocks.empty() && found.unseen.empty()) std::printf("no deadlock\n");
  if (found.deadlocks.empty() && !found.unseen.empty()) {
    std::printf("no deadlock among the engines that answered\n");
  }
  return status_of(found);
}

}  // namespace

void add_deadlocks(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("deadlocks", "Find owners that wait for each other, across engines");
  command->footer(kDeadlocksExamples);
  command->callback([&invocation] {
    invocation.action = [&invocation] { return deadlocks(invocation.session); };
  });
}

}  // namespace holdfast::cli
