#include "lab/sim/report.h"

#include <cstdio>

namespace holdfast::lab::sim {

std::string marks_text(const Marks& marks) {
  std::string text;
  for (const Mark& mark : marks) {
    char line[96];
    std::snprintf(line, sizeof line, "  %-38s %llu\n", mark.name,
                  static_cast<unsigned long long>(mark.count));
    text += line;
  }
  return text;
}

std::string violation_text(const RunResult& result) {
  if (!result.violation) return {};
  const Violation& violation = *result.violation;
  std::string text =
      std::string("violation: ") + to_text(violation.finding) + ": " + violation.what + "\n";
  text += "with as few faults as will do (" + std::to_string(violation.shrunk.size()) + "):\n";
  for (const std::string& line : violation.history) text += "  " + line + "\n";
  text += "replay with: holdfast sim --replay " + violation.replay(result.workload->name()) + "\n";
  return text;
}

std::string result_text(const RunResult& result) {
  std::string text = std::string(result.workload->name()) + ": ";
  text += result.violation ? "violation in schedule " + std::to_string(result.violation->seed)
                           : no_violation_in(result.schedules);
  if (result.partial) text += ", partial: interrupted";
  text += "\n";
  for (const std::string& what : result.missing) text += "  never happened: " + what + "\n";
  return text;
}

}  // namespace holdfast::lab::sim
