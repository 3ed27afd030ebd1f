// Rows 13 to 18: what happens between clients and servers, and to those who wait.
#include "lab/torture/scenario.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using test::Direction;
using test::ProxyMode;
using Eyes = Stage::Eyes;
using Renewal = Stage::Renewal;

void minority(Stage& stage) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, stage.short_ttl());
  stage.step(a, "ABAB");
  stage.links(a, ProxyMode::drop, ProxyMode::drop);
  const bool granted = stage.acquire(b, Stage::kLongTtl, stage.patience());
  if (granted) {
    stage.work(a, b);
    b.ask("release");
  } else {
    stage.note_stalled(b);
  }
  a.ask("release", 60s);  // It has lost it; a new question is a new claim.
  if (!stage.acquire(a, stage.short_ttl(), 2s)) stage.note_stalled(a);
}

void lost_reply(Stage& stage) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, stage.short_ttl());
  a.ask("release");
  stage.must_acquire(b, stage.short_ttl());
  b.ask("release");
  const auto before = stage.bytes(a, Direction::to_client);
  stage.links(a, ProxyMode::pass, ProxyMode::hold);
  stage.begin_acquire(a, stage.short_ttl(), 1s);
  stage.wait_for_bytes(a, Direction::to_client, before);
  stage.wait(50ms);
  // The lock is A's, and A will never hear of it; nor can it take its request back.
  stage.links(a, ProxyMode::drop, ProxyMode::drop);
  a.kill();
  const BootTime begin = BootClock::now();
  if (!stage.acquire(b, Stage::kLongTtl, stage.patience())) return stage.note_stalled(b);
  stage.note("the ghost kept the lock for " + in_ms(BootClock::now() - begin) + " (ttl " +
             in_ms(stage.short_ttl()) + ")");
  stage.step(b, "turn");
  stage.step(b, "turn");
}

void late_release(Stage& stage) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  Actor& c = stage.client("C");
  stage.must_acquire(a, stage.short_ttl(), Renewal::once);
  const auto before = stage.bytes(a, Direction::to_server);
  stage.links(a, ProxyMode::hold, ProxyMode::pass);
  a.tell("release");
  stage.wait_for_bytes(a, Direction::to_server, before);
  if (!stage.acquire(b, Stage::kLongTtl, stage.patience())) {
    stage.note_stalled(b);
    stage.links(a, ProxyMode::pass, ProxyMode::pass);
    a.answer(60s);
    return;
  }
  stage.step(b, "turn");
  stage.links(a, ProxyMode::pass, ProxyMode::pass);
  a.answer(60s);
  stage.wait(200ms);
  if (stage.acquire(c, Stage::kLongTtl, 500ms)) stage.work(b, c);
  stage.step(b, "turn");
}

void pause_of_servers(Stage& stage, Eyes eyes_of_a) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, stage.short_ttl());
  stage.begin_acquire(b, Stage::kLongTtl, stage.patience() + 30s);
  stage.wait(100ms);
  stage.pause_servers(stage.site().all());
  stage.wait(stage.short_ttl() + 1s);
  stage.heal();
  if (!stage.answer_is_granted(b)) return stage.note_stalled(b);
  stage.work(a, b, kAllOrders, eyes_of_a);
}

void dead_waiter(Stage& stage) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  Actor& c = stage.client("C");
  stage.must_acquire(a, stage.short_ttl());
  stage.begin_acquire(b, stage.short_ttl(), 60s);
  stage.wait(300ms);
  stage.begin_acquire(c, Stage::kLongTtl, stage.patience() + 30s);
  stage.wait(300ms);
  b.kill();
  if (c.answers_within(300ms)) {
    // Let in beside the holder.
    static_cast<void>(stage.answer_is_granted(c));
    return stage.work(a, c);
  }
  stage.step(a, "turn");
  stage.step(a, "turn");
  const BootTime begin = BootClock::now();
  a.ask("release");
  if (!stage.answer_is_granted(c)) return stage.note_stalled(c);
  stage.note("C got the lock " + in_ms(BootClock::now() - begin) + " after the release");
  stage.step(c, "turn");
  stage.step(c, "turn");
}

void killed_session(Stage& stage) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, Stage::kLongTtl);
  stage.begin_acquire(b, Stage::kLongTtl, 10s);
  stage.wait(300ms);
  stage.site().kill_sessions();
  stage.fault("all sessions ended by the server");
  if (stage.answer_is_granted(b)) stage.work(a, b);
}

std::optional<Expected> stalls(const Profile&) { return kStall; }

void add_lost_messages(std::vector<Scenario>& list) {
  list.push_back({.row = {.id = "13",
                          .title = "the client is on the wrong side of a partition",
                          .given = "A holds the lock",
                          .when = "no byte comes through between A and the servers",
                          .then = "A stops believing before B is let in, and gets nothing more"},
                  .needs = {Can::cut_links},
                  .expected = stalls,
                  .play = minority});
  list.push_back({.row = {.id = "14",
                          .title = "the reply is lost: a ghost holds the lock",
                          .given = "A has asked, and the lock is A's",
                          .when = "the reply is lost and A dies",
                          .then = "B gets the lock after one ttl at most"},
                  .needs = {Can::cut_links},
                  .expected = safe,
                  .play = lost_reply});
  list.push_back({.row = {.id = "15",
                          .title = "a release arrives after the lock has ended",
                          .given = "A releases the lock, and the request is held up",
                          .when = "the ttl passes, B gets the lock, and the release arrives",
                          .then = "B keeps the lock; C does not get it"},
                  .needs = {Can::cut_links},
                  .expected = safe,
                  .play = late_release});
}

}  // namespace

void add_links(std::vector<Scenario>& list) {
  add_lost_messages(list);
  list.push_back({.row = {.id = "16",
                          .title = "the servers stand still for longer than the ttl",
                          .given = "A holds the lock and is well; B waits",
                          .when = "all servers are stopped for longer than the ttl",
                          .then = "A's own clock tells it that the lock may be gone"},
                  .needs = {Can::pause_servers},
                  .expected = safe,
                  .play = [](Stage& stage) { pause_of_servers(stage, Eyes::open); }});
  list.push_back({.row = {.id = "16c",
                          .title = "control: as 16, and A does not look at its clock",
                          .given = "A holds the lock and is well; B waits",
                          .when = "all servers are stopped for longer than the ttl",
                          .then = "A goes on as if nothing had happened"},
                  .needs = {Can::pause_servers},
                  .expected = fence_saves,
                  .play = [](Stage& stage) { pause_of_servers(stage, Eyes::blind); }});
  list.push_back({.row = {.id = "17",
                          .title = "a waiter dies in the queue",
                          .given = "A holds the lock; B waits, and C waits behind B",
                          .when = "B is killed; later A releases",
                          .then = "C is not let in before, and gets the lock then"},
                  .expected = safe,
                  .play = dead_waiter});
  list.push_back({.row = {.id = "18",
                          .title = "the server ends the holder's session",
                          .given = "A holds the lock; B waits",
                          .when = "the server ends all sessions",
                          .then = "A learns of it at once, not at its next renewal"},
                  .needs = {Can::kill_sessions},
                  .expected = [](const Profile& profile) -> std::optional<Expected> {
                    if (!profile.session_hold) return kSafe;
                    // Between the end of the session and A's noticing it: a race.
                    return Expected{.overlap = Expect::may,
                                    .harm_unfenced = Expect::may,
                                    .harm_write_fenced = Expect::may};
                  },
                  .play = killed_session});
}

}  // namespace holdfast::lab
