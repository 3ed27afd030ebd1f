// peers: Holdfast, hiredis by hand and every installed library (bench/peers) in turns. Each is a
// process, or eight that contend, told by lines what to do (worker.h).
#include "league.h"
#include "traffic.h"
#include "workloads.h"

namespace holdfast::bench {

namespace {

constexpr const char* kRaw = "raw hiredis";

constexpr Bar at_least(double limit) { return {Bar::Side::at_least, limit}; }
constexpr Bar at_most(double limit) { return {Bar::Side::at_most, limit}; }

double commands_during(const Server& server, const std::function<void()>& meanwhile) {
  Traffic traffic(server.port());
  traffic.begin();
  meanwhile();
  double sum = 0;
  for (const auto& [name, calls] : traffic.end()) sum += static_cast<double>(calls);
  return sum;
}

void measure_pairs_of_all(League& league) {
  const std::vector<Claim> most_of_peers{{kBestPeer, at_least(1)}};
  league.pairs("peer_pairs_1", "1 worker", "threads", 1, {{kRaw, at_least(0.85)}});
  league.pairs("peer_pairs_4", "4 workers", "threads", 4, {});
  league.pairs("peer_pairs_16", "16 workers", "threads", 16, {{kRaw, at_least(0.95)}});
  league.pairs("peer_pairs_64", "64 workers", "threads", 64, {{kRaw, at_least(1.2)}});
  league.pairs("peer_flight_16", "16 claims in flight", "flight", 16, most_of_peers);
  league.pairs("peer_flight_256", "256 claims in flight", "flight", 256,
               {{kRaw, at_least(0.6)}, {kBestPeer, at_least(1)}});
}

}  // namespace

void measure_peers(const Plan& plan, const Server& server, Report& report) {
  std::vector<Entrant> entrants{
      {.name = "Holdfast", .role = Role::ours, .command = {"/proc/self/exe", "worker"}},
      {.name = kRaw, .role = Role::raw, .command = {"/proc/self/exe", "raw-worker"}}};
  for (Entrant& peer : installed_peers("redis")) entrants.push_back(std::move(peer));
  if (entrants.size() == 2) {
    report.note("no other library is installed: run bench/peers/setup, or bench/run, which does");
  }
  League league(
      {.repetitions = std::min(plan.repetitions, 3), .span = plan.span, .warm_up = 3 * plan.span},
      {.url = server.url(),
       .flush = [&] { server.flush(); },
       .commands_during =
           [&](const std::function<void()>& meanwhile) {
             return commands_during(server, meanwhile);
           }},
      std::move(entrants), report);
  measure_pairs_of_all(league);
  league.contest({.name = "peer_hold",
                  .what = "8 processes, hold 1 ms, pause 2 ms",
                  .hold_us = 1000,
                  .pause_us = 2000,
                  .gap_claims = {{kRaw, at_most(1.6)}},
                  .owner_claims = {{"", at_least(850)}},
                  .command_claims = {{"", at_most(3)}}});
  league.contest({.name = "peer_hot",
                  .what = "8 processes, no hold, no pause",
                  .owner_claims = {{"", at_least(10'000)}, {kBestPeer, at_least(4)}}});
  league.mix("peer_mix", "8 processes, 95 % read, 5 % write, hold 1 ms", 5, 1000,
             {{kBestPeer, at_least(1)}});
}

}  // namespace holdfast::bench
