// peers: Holdfast, hiredis by hand and every installed library (bench/peers) in turns. Each is a
// process, or eight that contend, told by lines what to do (worker.h).
#include "standard.h"
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
      {.repetitions = plan.repetitions, .span = 0.6 * plan.span, .warm_up = 3 * plan.span},
      {.url = server.url(),
       .flush = [&] { server.flush(); },
       .commands_during =
           [&](const std::function<void()>& meanwhile) {
             return commands_during(server, meanwhile);
           },
       .cpu = plan.server_cpu},
      std::move(entrants), report);
  play_standard(league, {.two_cpus = plan.two_cpus(),
                         .same_cpu = {{kRaw, at_least(0.8)}},
                         .other_cpu = {{kRaw, at_least(0.85)}},
                         .threads_16 = {{kRaw, at_least(0.95)}},
                         .threads_64 = {{kRaw, at_least(1.2)}},
                         .flight_16 = {{kBestPeer, at_least(1)}},
                         .flight_256 = {{kRaw, at_least(0.6)}, {kBestPeer, at_least(1)}},
                         .hold_gap = {{kRaw, at_most(1.6)}},
                         .hold_owners = {{"", at_least(850)}},
                         .hold_commands = {{"", at_most(3)}},
                         .hot_owners = {{"", at_least(10'000)}, {kBestPeer, at_least(4)}},
                         .mix = {{kBestPeer, at_least(1)}}});
}

}  // namespace holdfast::bench
