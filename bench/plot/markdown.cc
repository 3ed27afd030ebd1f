#include "markdown.h"

#include <algorithm>
#include <vector>

namespace holdfast::bench {

namespace {

std::string text_of(const Json& json, const char* key) { return json.value(key, ""); }

std::string targets_table(const Json& group) {
  const std::vector<Verdict> all = verdicts(group);
  if (all.empty()) return "";
  std::string text = "| what | measured | target | | figures |\n| --- | --- | --- | --- | --- |\n";
  for (const Verdict& each : all) {
    text += "| " + each.what + " | " + short_figure(each.value) + each.unit + " | at " +
            (each.at_least ? "least " : "most ") + short_figure(each.limit) + " | " +
            (each.met ? "reached" : "**missed**") + " | " + each.detail + " |\n";
  }
  return text + "\n";
}

// One line for each client, one column for each comparison.
std::string clients_table(const Json& group) {
  const Json& comparisons = group.at("comparisons");
  std::vector<std::string> names;
  for (const Json& comparison : comparisons) {
    for (const Json& client : comparison.at("clients")) {
      const auto name = client.at("client").get<std::string>();
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  if (names.empty()) return "";
  std::string head = "| client |", rule = "| --- |";
  for (const Json& comparison : comparisons) {
    head += " " + text_of(comparison, "what") + ", " + text_of(comparison, "unit") + " |";
    rule += " --- |";
  }
  std::string text = head + "\n" + rule + "\n";
  for (const std::string& name : names) {
    text += "| " + name + " |";
    for (const Json& comparison : comparisons) {
      std::string figure = " ";
      for (const Json& client : comparison.at("clients")) {
        if (client.at("client") == name && client.contains("median")) {
          figure += short_figure(client.at("median").get<double>()) + " ";
        }
      }
      text += figure + "|";
    }
    text += "\n";
  }
  return text + "\n";
}

}  // namespace

std::string to_markdown(const Json& run) {
  const Json& machine = run.at("machine");
  std::string text = text_of(run, "date") + ", `" + text_of(run, "command") + "`, on " +
                     std::to_string(machine.at("cpus").get<int>()) + " CPUs (" +
                     text_of(machine, "processor") + "), " + text_of(machine, "system") +
                     ", Linux " + text_of(machine, "kernel") + ".\n\n";
  for (const auto& [name, group] : run.at("groups").items()) {
    text += "### " + name + "\n\n" + text_of(group, "title") + "\n\n";
    text += targets_table(group) + clients_table(group);
    for (const Json& note : group.at("notes")) text += "- " + note.get<std::string>() + "\n";
    if (!group.at("notes").empty()) text += "\n";
  }
  return text;
}

}  // namespace holdfast::bench
