#include "standard.h"

namespace holdfast::bench {

void play_standard(League& league, const StandardPlan& plan) {
  using Place = League::Place;
  const auto name = [&](const char* base) { return base + plan.suffix; };
  const auto what = [&](const char* base) {
    return base + (plan.where.empty() ? "" : ", " + plan.where);
  };
  league.pairs({.name = name("pairs_1_same_cpu"),
                .what = what("1 worker, on the server's CPU"),
                .targets = plan.same_cpu,
                .place = Place::same_cpu});
  if (plan.two_cpus) {
    league.pairs({.name = name("pairs_1"),
                  .what = what("1 worker, on another CPU"),
                  .targets = plan.other_cpu,
                  .place = Place::other_cpu});
  }
  league.pairs({.name = name("pairs_4"), .what = what("4 workers"), .workers = 4});
  league.pairs({.name = name("pairs_16"),
                .what = what("16 workers"),
                .workers = 16,
                .targets = plan.threads_16});
  league.pairs({.name = name("pairs_64"),
                .what = what("64 workers"),
                .workers = 64,
                .targets = plan.threads_64});
  league.pairs({.name = name("flight_16"),
                .what = what("16 claims in flight"),
                .verb = "flight",
                .workers = 16,
                .targets = plan.flight_16});
  league.pairs({.name = name("flight_256"),
                .what = what("256 claims in flight"),
                .verb = "flight",
                .workers = 256,
                .targets = plan.flight_256});
  league.contest({.name = name("hold"),
                  .what = what("8 processes, hold 1 ms, pause 2 ms"),
                  .hold_us = 1000,
                  .pause_us = 2000,
                  .gap_targets = plan.hold_gap,
                  .owner_targets = plan.hold_owners,
                  .command_targets = plan.hold_commands});
  league.contest({.name = name("hot"),
                  .what = what("8 processes, no hold, no pause"),
                  .owner_targets = plan.hot_owners});
  league.mix(name("mix"), what("8 processes, 95 % read, 5 % write, hold 1 ms"), 5, 1000, plan.mix);
}

}  // namespace holdfast::bench
