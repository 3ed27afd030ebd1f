#include "sim/tables.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "lab/sim/report.h"
#include "table.h"

namespace holdfast::cli {

namespace sim = lab::sim;
using sim::Finding;

namespace {

std::vector<Finding> all_findings() {
  std::vector<Finding> all;
  for (int i = 0; i < sim::kFindings; ++i) all.push_back(static_cast<Finding>(i));
  return all;
}

// "belief overlap" -> "belief_overlap"
std::string key_of(Finding finding) {
  std::string key = sim::to_text(finding);
  for (char& c : key) {
    if (c == ' ' || c == '-') c = '_';
  }
  return key;
}

std::uint64_t count_of(const sim::RunResult& result, Finding finding) {
  return result.found[static_cast<std::size_t>(finding)];
}

// "none", "4.2 %*" (a star: expected), "VIOLATION".
std::string cell_of(const sim::RunResult& result, Finding finding) {
  if (result.violation && result.violation->finding == finding) return "VIOLATION";
  const std::uint64_t count = count_of(result, finding);
  const bool expected = result.workload->expectation_of(finding) != nullptr;
  if (count == 0) return expected ? "none*" : "none";
  char text[32];
  std::snprintf(text, sizeof text, "%.2g %%*",
                100.0 * static_cast<double>(count) / static_cast<double>(result.schedules));
  return text;
}

Json violation_json(const sim::RunResult& result) {
  const sim::Violation& violation = *result.violation;
  return {{"finding", sim::to_text(violation.finding)},
          {"what", violation.what},
          {"seed", violation.seed},
          {"faults", violation.shrunk.size()},
          {"replay", violation.replay(result.workload->name())},
          {"history", violation.history}};
}

Json findings_json(const sim::RunResult& result) {
  Json findings = Json::object();
  for (const Finding finding : all_findings()) {
    const sim::Expectation* expected = result.workload->expectation_of(finding);
    Json entry = {{"schedules", count_of(result, finding)}};
    if (expected) entry["expected_when"] = expected->when;
    findings[key_of(finding)] = std::move(entry);
  }
  return findings;
}

Json result_json(const sim::RunResult& result) {
  Json object = {{"workload", result.workload->name()},
                 {"schedules", result.schedules},
                 {"cpu_seconds", result.cpu_seconds},
                 {"schedules_per_cpu_minute", result.schedules_per_minute()},
                 {"partial", result.partial},
                 {"findings", findings_json(result)},
                 {"missing", result.missing},
                 {"marks", Json::object()}};
  for (const sim::Mark& mark : result.marks) object["marks"][mark.name] = mark.count;
  object["violation"] = result.violation ? violation_json(result) : Json(nullptr);
  if (!result.violation) object["verdict"] = sim::no_violation_in(result.schedules);
  return object;
}

std::string rate_of(const sim::RunResult& result) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", result.schedules_per_minute());
  return text;
}

void print_table(const std::vector<sim::RunResult>& results) {
  Table table({"WORKLOAD", "RUNS", "PER CPU MINUTE", "OVERLAP", "HARM", "HARM, WRITE FENCE",
               "HARM, FULL FENCE", "TOKENS", "LEASE", "FAIRNESS", "STRANDED", "PROGRESS"});
  for (const sim::RunResult& result : results) {
    std::vector<std::string> row = {
        result.workload->name(),
        std::to_string(result.schedules) + (result.partial ? " partial" : ""), rate_of(result)};
    for (const Finding finding : all_findings()) row.push_back(cell_of(result, finding));
    table.add(std::move(row));
  }
  std::fputs(table.text().c_str(), stdout);
}

void print_expectations(const std::vector<sim::RunResult>& results) {
  std::puts("\n* in so many schedules, as expected of that kind of lock when:");
  for (const sim::RunResult& result : results) {
    for (const sim::Expectation& expected : result.workload->expectations()) {
      std::printf("  %s: %s: %s\n", result.workload->name(), sim::to_text(expected.finding),
                  expected.when);
    }
  }
}

}  // namespace

void print_results(const Session& session, const std::vector<sim::RunResult>& results,
                   const RunHeader& header) {
  if (session.json) {
    Json object = {{"seed", header.seed},
                   {"threads", header.threads},
                   {"partial", header.partial},
                   {"results", Json::array()}};
    for (const sim::RunResult& result : results) object["results"].push_back(result_json(result));
    session.print(object);
    return;
  }
  print_table(results);
  print_expectations(results);
  std::puts("");
  for (const sim::RunResult& result : results) {
    std::fputs(sim::result_text(result).c_str(), stdout);
    if (header.marks) std::fputs(sim::marks_text(result.marks).c_str(), stdout);
    std::fputs(sim::violation_text(result).c_str(), stdout);
  }
  if (header.partial) std::puts("interrupted: these results are partial");
}

void print_kill_table(const Session& session, const std::vector<sim::RunResult>& results,
                      std::uint64_t first_seed, bool partial) {
  const auto tried = [&](const sim::RunResult& result) {
    return result.violation ? result.violation->seed - first_seed + 1 : result.schedules;
  };
  if (session.json) {
    Json object = {{"partial", partial}, {"mutants", Json::array()}};
    for (const sim::RunResult& result : results) {
      Json entry = {{"mutant", result.workload->name()},
                    {"mistake", result.workload->summary()},
                    {"caught", result.violation.has_value()},
                    {"schedules", tried(result)}};
      if (result.violation) entry["violation"] = violation_json(result);
      object["mutants"].push_back(std::move(entry));
    }
    session.print(object);
    return;
  }
  Table table({"MUTANT", "MISTAKE", "CAUGHT AFTER", "VIOLATED", "FAULTS", "REPLAY"});
  std::size_t caught = 0;
  for (const sim::RunResult& result : results) {
    const bool dead = result.violation.has_value();
    caught += dead ? 1 : 0;
    table.add({result.workload->name(), result.workload->summary(),
               dead ? std::to_string(tried(result))
                    : "SURVIVES " + std::to_string(tried(result)) + (result.partial ? "…" : ""),
               dead ? sim::to_text(result.violation->finding) : "-",
               dead ? std::to_string(result.violation->shrunk.size()) : "-",
               dead ? "--replay " + result.violation->replay(result.workload->name()) : "-"});
  }
  std::fputs(table.text().c_str(), stdout);
  std::printf("\n%zu of %zu mutants caught%s\n", caught, results.size(),
              partial ? "; interrupted: partial" : "");
}

void print_replay(const Session& session, const sim::Workload& workload,
                  const sim::Outcome& outcome) {
  if (session.json) {
    Json findings = Json::array();
    for (const Finding finding : all_findings()) {
      if (!outcome.has(finding)) continue;
      findings.push_back({{"finding", sim::to_text(finding)},
                          {"what", outcome.what(finding)},
                          {"expected", workload.expects(finding, outcome)}});
    }
    session.print({{"workload", workload.name()},
                   {"faults", outcome.decisions},
                   {"history", outcome.history},
                   {"findings", findings}});
    return;
  }
  for (const std::string& line : outcome.history) std::printf("%s\n", line.c_str());
  for (const Finding finding : all_findings()) {
    if (!outcome.has(finding)) continue;
    std::printf("%s: %s: %s\n", workload.expects(finding, outcome) ? "as expected" : "VIOLATION",
                sim::to_text(finding), outcome.what(finding).c_str());
  }
}

namespace {

std::vector<sim::FaultKind> all_faults() {
  std::vector<sim::FaultKind> all;
  for (int i = 0; i < sim::kFaultKinds; ++i) all.push_back(static_cast<sim::FaultKind>(i));
  return all;
}

void print_faults() {
  std::vector<std::string> header = {"FAULT"};
  for (const auto& workload : sim::workloads()) header.emplace_back(workload->name());
  Table table(std::move(header));
  for (const sim::FaultKind kind : all_faults()) {
    std::vector<std::string> row = {sim::to_text(kind)};
    for (const auto& workload : sim::workloads()) {
      row.emplace_back(workload->faults().has(kind) ? "yes" : "-");
    }
    table.add(std::move(row));
  }
  std::fputs(table.text().c_str(), stdout);
}

}  // namespace

void print_workloads(const Session& session) {
  if (session.json) {
    Json list = Json::array();
    for (const auto& workload : sim::workloads()) {
      Json expected = Json::object();
      for (const sim::Expectation& one : workload->expectations()) {
        expected[key_of(one.finding)] = one.when;
      }
      Json faults = Json::array();
      for (const sim::FaultKind kind : all_faults()) {
        if (workload->faults().has(kind)) faults.push_back(sim::to_text(kind));
      }
      list.push_back({{"workload", workload->name()},
                      {"summary", workload->summary()},
                      {"faults", faults},
                      {"expected_when", expected}});
    }
    session.print({{"workloads", list}});
    return;
  }
  Table table({"WORKLOAD", "WHAT"});
  for (const auto& workload : sim::workloads()) table.add({workload->name(), workload->summary()});
  std::fputs(table.text().c_str(), stdout);
  std::puts("");
  print_faults();
  std::puts("\nWhat is expected of each, and when; nothing else may be found:");
  for (const auto& workload : sim::workloads()) {
    for (const sim::Expectation& one : workload->expectations()) {
      std::printf("  %s: %s: %s\n", workload->name(), sim::to_text(one.finding), one.when);
    }
  }
}

}  // namespace holdfast::cli
