// peers: Holdfast, bare requests and every installed library (bench/peers) in turns, on one server.
// held: what many held leases cost.
#include "held.h"
#include "process.h"
#include "standard.h"
#include "workloads.h"

namespace holdfast::bench {

void measure_peers(const Setting& setting) {
  const System& system = setting.system;
  const Servers& servers = setting.servers;
  // What a crowd of JVMs leaves of two cores says nothing about three servers.
  if (!setting.suffix.empty()) return;
  std::vector<Entrant> entrants{
      {.name = "Holdfast", .role = Role::ours, .command = system.our_command},
      {.name = "raw " + system.raw_what, .role = Role::raw, .command = system.raw_command}};
  for (Entrant& peer : installed_peers(system.name)) entrants.push_back(std::move(peer));
  for (const Entrant& program : system.programs) entrants.push_back(program);
  const std::vector<int> cpus = allowed_cpus();
  League league({.repetitions = setting.plan.repetitions,
                 .span = 0.6 * setting.plan.span,
                 .warm_up = setting.plan.warm_up},
                {.url = servers.single_url(),
                 .commands_during = difference_of([&servers] { return servers.commands(); }),
                 .cpu = cpus.front(),
                 .processes = servers.processes()},
                std::move(entrants), setting.report);
  play_standard(league, {.two_cpus = cpus.size() > 1,
                         .other_cpu = system.pair_claims,
                         .hold_gap = system.gap_claims,
                         .hold_owners = system.owner_claims});
}

void measure_held_leases(const Setting& setting) {
  if (!setting.suffix.empty()) return;
  measure_held({.most = setting.plan.leases, .span = setting.plan.held_span},
               {.url = setting.servers.url(), .processes = setting.servers.processes()},
               setting.report);
}

}  // namespace holdfast::bench
