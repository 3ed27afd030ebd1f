// peers: Holdfast, bare requests and every installed library (bench/peers) in turns, on one server.
#include "league.h"
#include "workloads.h"

namespace holdfast::bench {

void measure_peers(const Setting& setting) {
  const System& system = setting.system;
  // What a crowd of JVMs leaves of two cores says nothing about three servers.
  if (!setting.suffix.empty()) return;
  std::vector<Entrant> entrants{
      {.name = "Holdfast", .role = Role::ours, .command = system.our_command},
      {.name = "raw " + system.raw_what, .role = Role::raw, .command = system.raw_command}};
  for (Entrant& peer : installed_peers(system.name)) entrants.push_back(std::move(peer));
  League league({.repetitions = std::min(setting.plan.repetitions, 3),
                 .span = setting.plan.span,
                 .warm_up = setting.plan.warm_up},
                {.url = setting.servers.single_url()}, std::move(entrants), setting.report);
  league.pairs("peer_pairs_1", "1 worker", "threads", 1, system.pair_claims);
  league.pairs("peer_flight_16", "16 workers in one session", "flight", 16, {});
  league.contest({.name = "peer_hold",
                  .what = "8 processes, hold 1 ms, pause 2 ms",
                  .hold_us = 1000,
                  .pause_us = 2000,
                  .gap_claims = system.gap_claims,
                  .owner_claims = system.owner_claims});
  league.contest({.name = "peer_hot", .what = "8 processes, no hold, no pause"});
  league.mix("peer_mix", "8 processes, 95 % read, 5 % write, hold 1 ms", 5, 1000, {});
}

}  // namespace holdfast::bench
