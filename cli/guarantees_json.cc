#include "guarantees_json.h"

#include <nlohmann/json.hpp>

#include "duration.h"

namespace holdfast::cli {
namespace {

Json json_of(const Finding& finding) {
  Json object = {{"severity", to_text(finding.severity)},
                 {"id", finding.id},
                 {"what", for_terminal(finding.what)},
                 {"mend", for_terminal(finding.mend)}};
  if (finding.exclusion) object["exclusion_at_most"] = to_text(*finding.exclusion);
  if (finding.token) object["token_at_most"] = to_text(*finding.token);
  return object;
}

}  // namespace

Json to_json(const Examination& found) {
  const Guarantees& can = found.guarantees;
  Json object = {{"verdict", to_text(found.verdict())},
                 {"engine", can.engine},
                 {"recipe", can.recipe},
                 {"product", for_terminal(found.product)},
                 {"version", for_terminal(found.version)},
                 {"server", for_terminal(found.server)},
                 {"exclusion", to_text(can.exclusion)},
                 {"token", to_text(can.token)},
                 {"wake_up", to_text(can.wake_up)},
                 {"fairness", to_text(can.fairness)},
                 {"settings", Json::object()},
                 {"findings", Json::array()}};
  if (found.clock) {
    object["clock_ahead_ms"] =
        std::chrono::duration<double, std::milli>(found.clock->ahead).count();
    object["clock_error_ms"] =
        std::chrono::duration<double, std::milli>(found.clock->error).count();
  }
  for (const ServerSetting& setting : found.settings) {
    object["settings"][for_terminal(setting.name)] = for_terminal(setting.value);
  }
  for (const Finding& finding : found.findings) object["findings"].push_back(json_of(finding));
  return object;
}

Json to_json(const Guarantees& can) {
  return {{"engine", can.engine},
          {"recipe", can.recipe},
          {"exclusion", to_text(can.exclusion)},
          {"token", to_text(can.token)},
          {"wake_up", to_text(can.wake_up)},
          {"fairness", to_text(can.fairness)},
          {"shared_mode", can.shared_mode},
          {"permit_mode", can.permit_mode},
          {"records", can.records},
          {"no_records_because", can.no_records_because},
          {"min_ttl_ms", to_ms(can.min_ttl)},
          {"notes", can.notes},
          {"of_server", can.of_server},
          {"lowered_because", for_terminal(can.lowered_because)}};
}

}  // namespace holdfast::cli
