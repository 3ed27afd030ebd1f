#include "standard.h"

namespace holdfast::bench {

void play_standard(League& league, const StandardPlan& plan) {
  using Place = League::Place;
  league.pairs({.name = "peer_pairs_1_same_cpu",
                .what = "1 worker, on the server's CPU",
                .claims = plan.same_cpu,
                .place = Place::same_cpu});
  if (plan.two_cpus) {
    league.pairs({.name = "peer_pairs_1",
                  .what = "1 worker, on another CPU",
                  .claims = plan.other_cpu,
                  .place = Place::other_cpu});
  }
  league.pairs({.name = "peer_pairs_4", .what = "4 workers", .workers = 4});
  league.pairs(
      {.name = "peer_pairs_16", .what = "16 workers", .workers = 16, .claims = plan.threads_16});
  league.pairs(
      {.name = "peer_pairs_64", .what = "64 workers", .workers = 64, .claims = plan.threads_64});
  league.pairs({.name = "peer_flight_16",
                .what = "16 claims in flight",
                .verb = "flight",
                .workers = 16,
                .claims = plan.flight_16});
  league.pairs({.name = "peer_flight_256",
                .what = "256 claims in flight",
                .verb = "flight",
                .workers = 256,
                .claims = plan.flight_256});
  league.contest({.name = "peer_hold",
                  .what = "8 processes, hold 1 ms, pause 2 ms",
                  .hold_us = 1000,
                  .pause_us = 2000,
                  .gap_claims = plan.hold_gap,
                  .owner_claims = plan.hold_owners,
                  .command_claims = plan.hold_commands});
  league.contest({.name = "peer_hot",
                  .what = "8 processes, no hold, no pause",
                  .owner_claims = plan.hot_owners});
  league.mix("peer_mix", "8 processes, 95 % read, 5 % write, hold 1 ms", 5, 1000, plan.mix);
}

}  // namespace holdfast::bench
