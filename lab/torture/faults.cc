#include "lab/torture/fault.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using test::ProxyMode;

// More than a ttl ahead, and little enough that a hold that was made meanwhile ends soon after the heal.
constexpr std::chrono::seconds kAhead = 5s;
constexpr std::chrono::seconds kBack = -3600s;

bool never(const Profile&) { return false; }
bool always(const Profile&) { return true; }

// A lock ends with its session; the holder and the next one learn of it at the same moment.
bool learns_late(const Profile& profile) { return profile.session_hold; }

// A single server loses all that it kept; a quorum has the others.
bool alone(const Profile& profile) { return !profile.quorum; }

// Of a quorum one server forgets: that is what it is made for.
std::vector<int> who_forgets(Stage& stage) {
  return stage.profile().quorum ? std::vector<int>{1} : stage.site().all();
}

bool by_wall_clock(const Profile& profile) {
  // PostgreSQL ends idle sessions by its wall clock.
  return profile.wall_clock_ttl || profile.name == "postgres-advisory";
}

void add_of_clients(std::vector<Fault>& list) {
  const auto stop = [](const std::string& point) {
    return [point](Stage& stage, Actor& victim) {
      victim.stop(point);
      stage.fault(victim.name() + " stopped", [&victim] { victim.resume(); });
    };
  };
  list.push_back({.id = "pause",
                  .title = "the holder is stopped for longer than its ttl",
                  .hits_a_client = true,
                  .begin = stop("wherever it is"),
                  .breaks_exclusion = always});
  list.push_back({.id = "kill",
                  .title = "the holder is killed",
                  .hits_a_client = true,
                  .begin = [](Stage&, Actor& victim) { victim.kill(); },
                  .breaks_exclusion = never});
  list.push_back(
      {.id = "waiter",
       .title = "a waiter is stopped in the queue",
       .begin = [stop](Stage& stage, Actor&) { stop("while it waits")(stage, stage.client("C")); },
       // It may have got the lock just then.
       .breaks_exclusion = always});
  list.push_back({.id = "silent",
                  .title = "a client is cut off in silence: no FIN, no RST",
                  .needs = {Can::cut_links},
                  .hits_a_client = true,
                  .begin = [](Stage& stage, Actor& victim) { stage.silence(victim); },
                  .breaks_exclusion = never});
  list.push_back(
      {.id = "reset",
       .title = "a client's connections are reset, and new ones refused",
       .needs = {Can::cut_links},
       .hits_a_client = true,
       .begin = [](Stage& stage, Actor& victim) { stage.cut_off(victim, stage.site().all()); },
       .breaks_exclusion = learns_late});
  list.push_back(
      {.id = "reply",
       .title = "what a client asks arrives, and the replies are lost",
       .needs = {Can::cut_links},
       .hits_a_client = true,
       .begin = [](Stage& stage,
                   Actor& victim) { stage.links(victim, ProxyMode::pass, ProxyMode::drop); },
       // Its streams have holes: they are reset in the end.
       .breaks_exclusion = learns_late});
}

void add_of_memory(std::vector<Fault>& list) {
  list.push_back({.id = "memory",
                  .title = "the servers have no memory for anything new",
                  .needs = {Can::fill_memory},
                  .begin = [](Stage& stage, Actor&) { stage.fill_memory(); },
                  // It makes room for the new by evicting the old.
                  .breaks_exclusion = [](const Profile& p) { return p.name == "memcached"; },
                  .forgets = [](const Profile& p) { return p.name == "memcached"; }});
  list.push_back({.id = "sessions",
                  .title = "the server ends all sessions",
                  .needs = {Can::kill_sessions},
                  .begin =
                      [](Stage& stage, Actor&) {
                        stage.site().kill_sessions();
                        stage.fault("all sessions ended by the server", [] {});
                      },
                  .breaks_exclusion = learns_late});
  list.push_back({.id = "restart",
                  .title = "all servers crash and come back with their data",
                  .needs = {Can::restart_full},
                  .begin = [](Stage& stage, Actor&) { stage.restart_together(stage.site().all()); },
                  .breaks_exclusion = never});
  list.push_back({.id = "empty",
                  .title = "the server (one of five) crashes and comes back empty",
                  .needs = {Can::restart_empty},
                  .begin = [](Stage& stage, Actor&) { stage.restart_empty(who_forgets(stage)); },
                  .breaks_exclusion = alone,
                  .forgets = alone});
  list.push_back({.id = "backup",
                  .title = "the servers (one of five) are restored from a backup",
                  .needs = {Can::restore},
                  .begin = [](Stage& stage, Actor&) { stage.restore(who_forgets(stage)); },
                  // No backup contains sessions.
                  .breaks_exclusion = [](const Profile& p) { return alone(p) && !p.session_hold; },
                  .forgets = alone});
}

void add_of_servers(std::vector<Fault>& list) {
  const auto jump = [](std::chrono::seconds by) {
    return [by](Stage& stage, Actor&) { stage.jump_wall(stage.site().all(), by); };
  };
  list.push_back({.id = "ahead",
                  .title = "the servers' clocks jump ahead, past the ttl",
                  .needs = {Can::move_wall},
                  .begin = jump(kAhead),
                  .breaks_exclusion = by_wall_clock,
                  .moves_clocks = true});
  list.push_back({.id = "back",
                  .title = "the servers' clocks jump back by an hour",
                  .needs = {Can::move_wall},
                  .begin = jump(kBack),
                  // Set right again, they have jumped ahead.
                  .breaks_exclusion = by_wall_clock,
                  .moves_clocks = true,
                  .sets_clocks_back = true});
  list.push_back({.id = "disk",
                  .title = "the servers' disks stall",
                  .needs = {Can::stall_disk},
                  .begin = [](Stage& stage, Actor&) { stage.stall_disks(); },
                  .breaks_exclusion = never});
  list.push_back({.id = "still",
                  .title = "the servers stand still",
                  .needs = {Can::pause_servers},
                  .begin = [](Stage& stage, Actor&) { stage.pause_servers(stage.site().all()); },
                  .breaks_exclusion = never});
  list.push_back({.id = "failover",
                  .title = "a replica that did not know takes the master's place and address",
                  .needs = {Can::fail_over},
                  .begin = [](Stage& stage, Actor&) { stage.fail_over_in_place(); },
                  .breaks_exclusion = always,
                  .forgets = always,
                  .other_clock = true});
}

std::vector<Fault> all_faults() {
  std::vector<Fault> list;
  add_of_clients(list);
  add_of_memory(list);
  add_of_servers(list);
  return list;
}

}  // namespace

const std::vector<Fault>& faults() {
  static const std::vector<Fault> list = all_faults();
  return list;
}

const Fault* find_fault(const std::string& id) {
  for (const Fault& fault : faults()) {
    if (fault.id == id) return &fault;
  }
  return nullptr;
}

}  // namespace holdfast::lab
