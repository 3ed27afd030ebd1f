// Rows 4 to 7: clocks of servers jump.
#include "lab/torture/scenario.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using Renewal = Stage::Renewal;

constexpr std::chrono::seconds kPastTtl = 120s;  // Stage::kLongTtl and then some

// B reaches {3,4,5}, A had {1,2,3}; on engines that are no quorum there is nothing to choose.
void split(Stage& stage, Actor& a) {
  if (stage.profile().quorum) stage.cut_off(a, {4, 5});
}
void split_other(Stage& stage, Actor& b) {
  if (stage.profile().quorum) stage.cut_off(b, {1, 2});
}

void ask_after_the_jump(Stage& stage, Actor& a, Actor& b) {
  // A grant comes at once or not at all; a safe lock refuses B, which is no stall: A holds it.
  if (stage.acquire(b, Stage::kLongTtl, 1500ms)) stage.work(a, b);
}

void one_clock_ahead(Stage& stage) {
  stage.break_in();
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  split(stage, a);
  stage.must_acquire(a, Stage::kLongTtl, Renewal::once);
  stage.jump_wall(stage.profile().quorum ? std::vector<int>{3} : stage.site().all(), kPastTtl);
  split_other(stage, b);
  ask_after_the_jump(stage, a, b);
}

void monotonic_clock_ahead(Stage& stage) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, Stage::kLongTtl, Renewal::once);
  stage.jump_monotonic({1}, kPastTtl);
  stage.wait(1200ms);  // Memcached looks at its clock once a second.
  ask_after_the_jump(stage, a, b);
}

void clocks_ahead(Stage& stage, const std::vector<int>& servers, bool cut) {
  stage.break_in();
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, Stage::kLongTtl, Renewal::once);
  stage.wait(200ms);  // The grant is known before the last servers have it.
  stage.jump_wall(servers, kPastTtl);
  if (cut) split_other(stage, b);
  ask_after_the_jump(stage, a, b);
}

void clocks_back(Stage& stage) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, stage.short_ttl(), Renewal::once);
  a.kill();
  stage.jump_wall(stage.site().all(), -3600s);
  if (!stage.acquire(b, Stage::kLongTtl, 2 * stage.short_ttl() + 2s)) stage.note_stalled(b);
}

std::optional<Expected> by_wall_clock(const Profile& profile) {
  if (profile.name == "postgres-advisory") {
    return Expected{
        .overlap = Expect::may, .harm_unfenced = Expect::may, .harm_write_fenced = Expect::may};
  }
  return profile.wall_clock_ttl ? kFenceSaves : kSafe;
}

std::optional<Expected> safe_in_quorum(const Profile& profile) {
  return profile.quorum ? safe(profile) : std::nullopt;
}
std::optional<Expected> fence_saves_in_quorum(const Profile& profile) {
  return profile.quorum ? fence_saves(profile) : std::nullopt;
}

void add_jumps_of_one(std::vector<Scenario>& list) {
  list.push_back(
      {.row = {.id = "4",
               .title = "a server's clock jumps ahead",
               .given = "A holds the lock; of five servers it holds 1, 2 and 3",
               .when = "the clock of the server jumps past the ttl; of five servers "
                       "that of server 3, of three that agree all",
               .then = "B asks; of five servers it reaches 3, 4 and 5"},
       .needs = {Can::move_wall},
       .expected = by_wall_clock,
       .play = one_clock_ahead,
       .why = [](const Profile& profile) -> std::string {
         if (profile.name != "postgres-advisory") return "";
         return "PostgreSQL probably ends idle sessions by its wall clock, at its next look at "
                "it: now and then that is while B asks. A learns of it from its "
                "connection, and B may be quicker.";
       }});
  list.push_back({.row = {.id = "4m",
                          .title = "a server's monotonic clock jumps ahead",
                          .given = "A holds the lock",
                          .when = "the clock that no administrator can set jumps past the ttl (a "
                                  "virtual machine that was suspended)",
                          .then = "B asks"},
                  .needs = {Can::move_monotonic},
                  .expected = fence_saves,
                  .play = monotonic_clock_ahead});
  list.push_back({.row = {.id = "5",
                          .title = "one clock of five jumps, the holder has all five",
                          .given = "A holds the lock on all five servers",
                          .when = "the clock of server 3 jumps past the ttl",
                          .then = "B asks 3, 4 and 5, and has one vote"},
                  .needs = {Can::move_wall},
                  .expected = safe_in_quorum,
                  .play = [](Stage& stage) { clocks_ahead(stage, {3}, true); }});
}

}  // namespace

void add_clocks(std::vector<Scenario>& list) {
  add_jumps_of_one(list);
  list.push_back({.row = {.id = "6",
                          .title = "three clocks of five jump together",
                          .given = "A holds the lock on all five servers",
                          .when = "the clocks of 1, 3 and 5 jump past the ttl (a bad time server)",
                          .then = "B asks all of them"},
                  .needs = {Can::move_wall},
                  .expected = fence_saves_in_quorum,
                  .play = [](Stage& stage) { clocks_ahead(stage, {1, 3, 5}, false); }});
  list.push_back({.row = {.id = "7",
                          .title = "the servers' clocks jump back",
                          .given = "A holds the lock and dies",
                          .when = "the clocks of all servers jump back by an hour",
                          .then = "B asks, and waits for longer than the ttl"},
                  .needs = {Can::move_wall},
                  .expected = [](const Profile& profile) -> std::optional<Expected> {
                    if (profile.name == "etcd") return Expected{.stalled = Expect::may};
                    return profile.waits_for_the_clock ? kStall : kSafe;
                  },
                  .play = clocks_back,
                  .why = [](const Profile& profile) -> std::string {
                    if (profile.name != "etcd") return "";
                    return "Before version 3.5, etcd looks for leases that have ended by its wall "
                           "clock (etcd's issue 12291): set back, it keeps a dead holder's lock.";
                  }});
}

}  // namespace holdfast::lab
