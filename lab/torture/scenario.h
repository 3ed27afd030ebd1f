// Scenario: something that goes wrong around a lock, arranged step by step on real servers, so that
// it happens in every run. The verdict is then computed from what the clients saw and did.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lab/report.h"
#include "lab/torture/stage.h"

namespace holdfast::lab {

struct Scenario {
  Row row;
  SiteOptions site = {};
  std::set<Can> needs = {};  // of the engine's servers
  // Nothing: it has no meaning there.
  std::function<std::optional<Expected>(const Profile&)> expected;
  std::function<void(Stage&)> play;
  // Peculiarities of an engine, for the report.
  std::function<std::string(const Profile&)> why = {};

  std::optional<Expected> expected_of(const Profile& profile) const;
};

// All of them, in the order of their numbers.
const std::vector<Scenario>& scenarios();
const Scenario* find_scenario(const std::string& id);

// Outcomes that many scenarios share.
inline constexpr Expected kSafe{};
inline constexpr Expected kStall{.stalled = Expect::yes};
// Two holders; updates are lost unless reads are fenced, too.
inline constexpr Expected kFenceSaves{
    .overlap = Expect::yes, .harm_unfenced = Expect::yes, .harm_write_fenced = Expect::yes};
inline std::optional<Expected> safe(const Profile&) { return kSafe; }
inline std::optional<Expected> fence_saves(const Profile&) { return kFenceSaves; }

std::string in_ms(Duration span);  // "250 ms"

// The parts of scenarios().
void add_pauses(std::vector<Scenario>& list);
void add_clocks(std::vector<Scenario>& list);
void add_crashes(std::vector<Scenario>& list);
void add_links(std::vector<Scenario>& list);
void add_turns(std::vector<Scenario>& list);
void add_silence(std::vector<Scenario>& list);
void add_hardships(std::vector<Scenario>& list);
void add_controls(std::vector<Scenario>& list);

}  // namespace holdfast::lab
