// Rows 25 to 27: two faults at a time. A holder that nobody hears of any more, and servers that come
// back, with their data or with older ones.
#include "lab/torture/scenario.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using Renewal = Stage::Renewal;

// Long enough for servers that start on a busy machine.
constexpr Duration kTtl = 8s;

std::vector<int> who_crashes(const Stage& stage, const std::vector<int>& all) {
  return stage.profile().quorum ? std::vector<int>{3} : all;
}

void silent_holder_and_restart(Stage& stage) {
  const bool quorum = stage.profile().quorum;
  stage.break_in();
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(b, kTtl);  // It has its connections now.
  b.ask("release");
  if (quorum) stage.cut_off(a, {4, 5});
  stage.must_acquire(a, kTtl);
  stage.silence(a);
  stage.restart_together(who_crashes(stage, stage.site().all()));
  if (quorum) stage.cut_off(b, {1, 2});
  if (!stage.acquire(b, Stage::kLongTtl, quorum ? Duration(3s) : kTtl + 20s)) {
    // Of a quorum, two votes are none: that is no stall.
    if (!quorum) stage.note_stalled(b);
    return;
  }
  stage.work(a, b);
}

void restored_backup(Stage& stage) {
  const bool quorum = stage.profile().quorum;
  stage.use_once();
  const std::vector<int> victims = who_crashes(stage, stage.site().all());
  stage.back_up(victims);
  // A lock that lives in a session ends with it: then tokens alone are at stake.
  const Duration ttl = stage.profile().session_hold ? stage.short_ttl() : Stage::kLongTtl;
  Actor& a = stage.client("A");
  if (quorum) stage.cut_off(a, {4, 5});
  stage.must_acquire(a, ttl, Renewal::once);
  stage.step(a, "turn");
  stage.step(a, "turn");
  stage.restore(victims);
  Actor& b = stage.client("B");
  if (quorum) stage.cut_off(b, {1, 2});
  if (stage.acquire(b, ttl, quorum ? Duration(3s) : stage.patience())) stage.work(a, b);
}

void rack_without_power(Stage& stage) {
  stage.use_once();
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, stage.short_ttl(), Renewal::once);
  a.kill();
  stage.restart_together(stage.site().all());
  if (!stage.acquire(b, stage.short_ttl(), stage.patience())) return stage.note_stalled(b);
  stage.step(b, "turn");
  stage.step(b, "turn");
}

std::optional<Expected> expected_of_backup(const Profile& profile) {
  if (profile.quorum) return kSafe;
  if (profile.session_hold) return kSafe;
  Expected expected = kFenceSaves;
  if (profile.name == "etcd") {
    // Its tokens are counted in what was restored. Those of ZooKeeper begin with the number of the
    // election, and a restored ensemble elects anew.
    expected.harm_fenced = Expect::may;
    expected.token_order = Expect::yes;
  }
  return expected;
}

}  // namespace

void add_silence(std::vector<Scenario>& list) {
  list.push_back(
      {.row = {.id = "25",
               .title = "the holder is cut off in silence, and the server restarts",
               .given = "A holds the lock; of five servers it holds 1, 2 and 3",
               .when = "A's host is cut off without a FIN, and the servers (server 3) "
                       "crash and come back with their data",
               .then = "B asks; of five servers it reaches 3, 4 and 5"},
       .site = {.keeping = Keeping::everything},
       .needs = {Can::cut_links, Can::restart_full},
       .expected = safe,
       .play = silent_holder_and_restart,
       .why = [](const Profile& profile) -> std::string {
         if (!profile.session_hold) return "";
         return "The restarted server knows nothing of A's session, and A does not know "
                "that it has ended: nobody is let in for one ttl after the server began.";
       }});
  list.push_back(
      {.row = {.id = "26",
               .title = "a server is restored from a backup",
               .given = "the servers (server 3) are backed up, and A gets the lock",
               .when = "they are put back to the backup",
               .then = "B asks; of five servers it reaches 3, 4 and 5"},
       .site = {.keeping = Keeping::everything},
       .needs = {Can::restore},
       .expected = expected_of_backup,
       .play = restored_backup,
       .why = [](const Profile& profile) -> std::string {
         if (profile.name == "etcd") {
           return "Revisions go on from that of the backup, so that tokens are given again. "
                  "Restore etcd with --bump-revision.";
         }
         if (profile.name == "zookeeper") {
           return "Tokens begin with the number of the election, and the restored servers elect "
                  "anew. After two elections since the backup they would be given again.";
         }
         return "";
       }});
  list.push_back({.row = {.id = "27",
                          .title = "all servers lose power at once and come back with their data",
                          .given = "A holds the lock and dies",
                          .when = "all servers are killed and come back with their data",
                          .then = "B asks, and gets the lock when A's ttl has passed"},
                  .site = {.keeping = Keeping::everything, .short_ttls = true},
                  .needs = {Can::restart_full},
                  .expected = safe,
                  .play = rack_without_power});
}

}  // namespace holdfast::lab
