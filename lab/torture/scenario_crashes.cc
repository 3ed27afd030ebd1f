// Rows 8 to 12: servers crash, and what they knew is gone, there, or on another one.
#include "lab/torture/scenario.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using Renewal = Stage::Renewal;

// A has the lock; of five servers on 1, 2 and 3. The one that will crash is the shared one.
struct Cast {
  Actor& a;
  Actor& b;
  int victim;
};

Cast begin(Stage& stage, Duration ttl) {
  const bool quorum = stage.profile().quorum;
  stage.break_in();
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  if (quorum) stage.cut_off(a, {4, 5});
  if (ttl > Duration::zero()) stage.must_acquire(a, ttl, Renewal::once);
  if (quorum) stage.cut_off(b, {1, 2});
  return {a, b, quorum ? 3 : 1};
}

void ask_after_the_crash(Stage& stage, const Cast& cast, Duration patience) {
  if (stage.acquire(cast.b, Stage::kLongTtl, patience)) stage.work(cast.a, cast.b);
}

void restart(Stage& stage) {
  const bool keeps = !stage.profile().can.contains(Can::restart_empty);
  const Cast cast = begin(stage, Stage::kLongTtl);
  stage.kill_servers({cast.victim});
  stage.restart_servers({cast.victim}, keeps ? "with its data" : "and empty");
  ask_after_the_crash(stage, cast, 3s);
}

void restart_full(Stage& stage) {
  // Where locks live in sessions, nobody is let in for one ttl after the restart.
  const Cast cast = begin(stage, stage.profile().session_hold ? Duration(8s) : Stage::kLongTtl);
  stage.kill_servers({cast.victim});
  stage.restart_servers({cast.victim}, "with its data");
  ask_after_the_crash(stage, cast, 2s);
}

void restart_late(Stage& stage) {
  const Cast cast = begin(stage, stage.short_ttl());
  stage.kill_servers({cast.victim});
  stage.wait(stage.short_ttl() + 500ms);
  stage.restart_servers({cast.victim}, "late, and empty");
  ask_after_the_crash(stage, cast, 2s);
}

void power_cut(Stage& stage) {
  Cast cast = begin(stage, Duration::zero());
  stage.site().back_up({cast.victim});
  stage.must_acquire(cast.a, Stage::kLongTtl, Renewal::once);
  stage.wait(100ms);
  stage.kill_servers({cast.victim});
  stage.site().server(cast.victim).forget();
  stage.restart_servers({cast.victim}, "without its last second");
  ask_after_the_crash(stage, cast, 3s);
}

void fail_over(Stage& stage, bool cut_first, const std::string& option, Duration ttl) {
  Actor& a = stage.client("A", {.url = stage.site().url("A") + option});
  if (cut_first) {
    stage.site().cut_replication();
    stage.fault("replication cut");
  }
  stage.must_acquire(a, ttl, Renewal::once);
  // A lock that lives in a session would end with the master, and A see it.
  const bool goes_on = stage.profile().session_hold;
  if (!goes_on) {
    stage.site().server(1).kill();
    stage.site().give_up(1);
  }
  const std::string url = stage.site().fail_over();
  stage.fault(goes_on ? "replica promoted, A has the old master"
                      : "master killed, replica promoted");
  stage.newcomer_is({.url = url});
  Actor& b = stage.client("B", {.url = url});
  if (stage.acquire(b, Stage::kLongTtl, 2s)) stage.work(a, b);
}

void add_restarts(std::vector<Scenario>& list) {
  list.push_back({.row = {.id = "8",
                          .title = "a server crashes and comes back without what it knew",
                          .given = "A holds the lock; of five servers it holds 1, 2 and 3",
                          .when = "the server (server 3) is killed and comes back empty",
                          .then = "B asks; of five servers it reaches 3, 4 and 5"},
                  .needs = {Can::restart_empty},
                  .expected = [](const Profile& profile) -> std::optional<Expected> {
                    return profile.quorum ? kSafe : kFenceSaves;
                  },
                  .play = restart,
                  .why = [](const Profile& profile) -> std::string {
                    if (profile.quorum) {
                      return "A server that comes back empty does not vote until a majority of "
                             "the others has let it in again, and a ttl has passed.";
                    }
                    return "Tokens begin at the server's clock, not at 1: those of the empty "
                           "server are higher as long as its clock is not set back.";
                  }});
  list.push_back({.row = {.id = "9",
                          .title = "a server crashes and comes back with its data",
                          .given = "A holds the lock, on servers that flush each write",
                          .when = "the server (server 3) is killed and comes back",
                          .then = "B asks; of five servers it reaches 3, 4 and 5"},
                  .site = {.keeping = Keeping::everything},
                  .needs = {Can::restart_full},
                  .expected = [](const Profile& profile) -> std::optional<Expected> {
                    if (!profile.session_hold) return kSafe;
                    // The lock ends with its session; who has it learns of that at once, or B
                    // is quicker.
                    return Expected{.overlap = Expect::may,
                                    .harm_unfenced = Expect::may,
                                    .harm_write_fenced = Expect::may};
                  },
                  .play = restart_full});
  list.push_back({.row = {.id = "9b",
                          .title = "a server comes back empty, but after the longest ttl",
                          .given = "A holds the lock",
                          .when = "the server (server 3) is killed, and comes back empty when A's "
                                  "ttl has passed",
                          .then = "B asks; of five servers it reaches 3, 4 and 5"},
                  .needs = {Can::restart_empty},
                  .expected = safe,
                  .play = restart_late});
  list.push_back({.row = {.id = "10",
                          .title = "a power cut takes the last second",
                          .given = "A holds the lock, on servers that flush every second",
                          .when = "power is cut: the server (server 3) forgets A's lock alone",
                          .then = "B asks; of five servers it reaches 3, 4 and 5"},
                  .site = {.keeping = Keeping::every_second},
                  .needs = {Can::lose_a_second},
                  .expected = [](const Profile& profile) -> std::optional<Expected> {
                    return profile.quorum ? kSafe : kFenceSaves;
                  },
                  .play = power_cut,
                  .why = [](const Profile& profile) -> std::string {
                    return profile.quorum ? "A server that does not flush each write is taken "
                                            "for an empty one when it comes back."
                                          : "";
                  }});
}

}  // namespace

void add_crashes(std::vector<Scenario>& list) {
  add_restarts(list);
  list.push_back({.row = {.id = "11",
                          .title = "failover to a replica that did not know",
                          .given = "replication is cut, and A gets the lock",
                          .when = "the master dies (of locks that live in a session: is cut off "
                                  "with A) and the replica takes its place",
                          .then = "B asks the new master"},
                  .site = {.replica = true},
                  .needs = {Can::fail_over},
                  .expected = fence_saves,
                  .play = [](Stage& stage) { fail_over(stage, true, "", Stage::kLongTtl); },
                  .why = [](const Profile&) -> std::string {
                    return "Tokens are not below the server's clock: those of the new master are "
                           "higher as long as its clock is not behind.";
                  }});
  list.push_back({.row = {.id = "12",
                          .title = "failover of a lock that waited for its replica",
                          .given = "A asks with wait_replicas=1 and gets the lock",
                          .when = "the master dies and the replica takes its place",
                          .then = "B asks the new master"},
                  .site = {.replica = true},
                  .needs = {Can::fail_over},
                  .expected = [](const Profile& profile) -> std::optional<Expected> {
                    if (profile.database) return std::nullopt;  // no such option there
                    return kSafe;
                  },
                  // The hold is on the new master, which A does not know: it ends by its ttl alone.
                  .play = [](Stage& stage) { fail_over(stage, false, "?wait_replicas=1", 10s); }});
}

}  // namespace holdfast::lab
