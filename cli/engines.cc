// holdfast engines: what is built in, and what each can promise.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "duration.h"
#include "guarantees_json.h"
#include "table.h"

namespace holdfast::cli {
namespace {

constexpr const char* kEnginesExamples = R"(Examples:
  holdfast engines
  holdfast --json engines | jq -r '.engines[] | select(.token == "linearizable") | .engine'

EXCLUSION  best effort: can be lost without a fault of the holder; bounded by clocks: holds while
           clocks run at about the same rate; linearizable: kept by one durable store or consensus
TOKEN      how well the fencing token survives: none, volatile, durable on one node, quorum, …
WAKE-UP    push: the next holder is told; poll: it asks again and again
RECORDS    whether it keeps what was done last under a lock)";

Json json_of(const Client::BuiltIn& engine) {
  Json object = to_json(engine.guarantees);
  object["example_url"] = engine.example_url;
  // Nobody was asked.
  object.erase("of_server");
  object.erase("lowered_because");
  return object;
}

int engines(const Session& session) {
  const std::vector<Client::BuiltIn> built_in = Client::engines();
  if (session.json) {
    Json object = {{"engines", Json::array()}};
    for (const auto& engine : built_in) object["engines"].push_back(json_of(engine));
    session.print(object);
    return kOk;
  }
  Table table({"ENGINE", "RECIPE", "EXCLUSION", "TOKEN", "WAKE-UP", "FAIRNESS", "SHARED", "PERMITS",
               "RECORDS", "MIN TTL", "URL"});
  for (const auto& [can, example_url] : built_in) {
    table.add({can.engine, can.recipe, to_text(can.exclusion), to_text(can.token),
               to_text(can.wake_up), to_text(can.fairness), can.shared_mode ? "yes" : "no",
               can.permit_mode ? "yes" : "no", can.records ? "yes" : "no",
               format_duration(can.min_ttl), example_url});
  }
  std::fputs(table.text().c_str(), stdout);
  for (const auto& engine : built_in) {
    std::printf("\n%s %s: %s\n", engine.guarantees.engine.c_str(), engine.guarantees.recipe.c_str(),
                engine.guarantees.notes.c_str());
  }
  return kOk;
}

}  // namespace

void add_engines(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("engines", "List the engines and what they guarantee");
  command->footer(kEnginesExamples);
  command->callback(
      [&invocation] { invocation.action = [&invocation] { return engines(invocation.session); }; });
}

}  // namespace holdfast::cli
