// Torture: plays scenarios on engines, checks what came of them, and makes the report.
//
// Thread safety: one thread at a time, one that lasts as long as the program.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "lab/report.h"
#include "lab/torture/profile.h"
#include "lab/torture/scenario.h"

namespace holdfast::lab {

struct TorturePlan {
  std::vector<const Scenario*> scenarios;
  std::vector<Profile> engines;
  unsigned repeat = 1;
  unsigned jobs = 1;   // so many runs at the same time, each with servers of its own
  bool pairs = false;  // the scenarios are pairs of faults: of a run as expected nothing is kept
  // Random mode: instead of the scenarios.
  bool random = false;
  std::uint64_t seed = 1;
  Duration duration = std::chrono::seconds(20);
};

// Which run begins.
struct TortureProgress {
  std::string scenario;
  std::string engine;
  std::size_t run = 0;  // of `runs`, in the order in which they begin
  std::size_t runs = 0;
  bool as_expected = true;  // so far
};

// Runs all of it. On `stop` what is under way is given up, everything that was started is ended,
// and the report is marked as partial. Never throws for what a single run did. `progress` is called by
// one thread at a time, not always by the same.
Report run_torture(const TorturePlan& plan, std::stop_token stop,
                   const std::function<void(const TortureProgress&)>& progress);

// One random run: three clients take turns for `duration` while faults are drawn by `seed`.
void play_random(Stage& stage, std::uint64_t seed, Duration duration);
Scenario random_scenario(std::uint64_t seed, Duration duration);

// Every process that was started ends with ours, and a broken pipe to one of them is no reason to
// die. Call it once, before anything else here.
void prepare_torture();

}  // namespace holdfast::lab
