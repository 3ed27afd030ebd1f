#include <algorithm>
#include <utility>

#include "lab/torture/scenario.h"

namespace holdfast::lab {
namespace {

// "2" before "2c" before "10".
std::pair<int, std::string> sort_key(const Scenario& scenario) {
  return {std::stoi(scenario.row.id), scenario.row.id};
}

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> list;
  add_pauses(list);
  add_clocks(list);
  add_crashes(list);
  add_links(list);
  add_turns(list);
  add_silence(list);
  add_hardships(list);
  add_controls(list);
  std::ranges::stable_sort(list, {}, sort_key);
  return list;
}

}  // namespace

std::optional<Expected> Scenario::expected_of(const Profile& profile) const {
  for (const Can need : needs) {
    if (!profile.can.contains(need)) return std::nullopt;
  }
  return expected(profile);
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> list = all_scenarios();
  return list;
}

std::string in_ms(Duration span) {
  return std::to_string(span / std::chrono::milliseconds(1)) + " ms";
}

const Scenario* find_scenario(const std::string& id) {
  for (const Scenario& scenario : scenarios()) {
    if (scenario.row.id == id) return &scenario;
  }
  return nullptr;
}

}  // namespace holdfast::lab
