// Controls: the naive recipes of the literature, on one Redis or in a table. They must break, or the
// scenario that ours survives proves nothing.
#include "lab/torture/scenario.h"
#include "movable_clock.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using test::Direction;
using test::ProxyMode;

// These recipes have no tokens: what a fence would do nobody knows.
constexpr Expected kNoTokens{.overlap = Expect::yes,
                             .harm_unfenced = Expect::yes,
                             .harm_write_fenced = Expect::may,
                             .harm_fenced = Expect::may};

void unchecked(Stage& stage) {
  Actor& a = stage.client("A", {.recipe = "unchecked"});
  Actor& b = stage.client("B");
  const auto before = stage.bytes(a, Direction::to_client);
  stage.links(a, ProxyMode::pass, ProxyMode::hold);
  stage.begin_acquire(a, stage.short_ttl(), 0s);
  stage.wait_for_bytes(a, Direction::to_client, before);
  a.stop("before a check that it does not make");
  stage.links(a, ProxyMode::pass, ProxyMode::pass);
  const bool granted = stage.acquire(b, Stage::kLongTtl, stage.patience());
  a.resume();
  static_cast<void>(stage.answer_is_granted(a));
  if (!granted) return stage.note_stalled(b);
  stage.work(a, b, {"BAAB", "BABA"});
}

void plain_del(Stage& stage) {
  Actor& a = stage.client("A", {.recipe = "plain-del"});
  Actor& b = stage.client("B");
  Actor& c = stage.client("C");
  stage.must_acquire(a, stage.short_ttl());
  a.tell("stop before its release");
  a.wait_until_stopped();
  if (!stage.acquire(b, Stage::kLongTtl, stage.patience())) return stage.note_stalled(b);
  a.resume();
  a.answer(60s);
  a.ask("release");
  if (stage.acquire(c, Stage::kLongTtl, 2s)) stage.work(b, c);
}

void setnx_expire(Stage& stage) {
  Actor& a = stage.client("A", {.recipe = "setnx-expire"});
  Actor& b = stage.client("B");
  a.ask("stop-between on");
  stage.begin_acquire(a, stage.short_ttl(), 0s);
  a.wait_until_stopped();
  a.kill();
  if (!stage.acquire(b, Stage::kLongTtl, 2 * stage.short_ttl())) stage.note_stalled(b);
}

void setnx_getset(Stage& stage) {
  test::MovableClock clock(stage.folder() / "clock-of-B");
  clock.jump(120s);
  Actor& a = stage.client("A", {.recipe = "setnx-getset"});
  Actor& b = stage.client("B", {.recipe = "setnx-getset", .environment = clock.environment()});
  stage.fault("B's clock is two minutes ahead");
  stage.must_acquire(a, Stage::kLongTtl);
  if (stage.acquire(b, Stage::kLongTtl, 2s)) stage.work(a, b);
  stage.newcomer_is({.recipe = "setnx-getset", .environment = clock.environment()});
}

void table_without_expiry(Stage& stage) {
  const How naive{.recipe = "table-without-expiry"};
  Actor& a = stage.client("A", naive);
  Actor& b = stage.client("B", naive);
  stage.must_acquire(a, stage.short_ttl());
  a.kill();
  if (!stage.acquire(b, Stage::kLongTtl, 2 * stage.short_ttl())) stage.note_stalled(b);
  stage.newcomer_is(naive);
}

}  // namespace

void add_controls(std::vector<Scenario>& list) {
  const auto on_redis = [](Expected expected) {
    return [expected](const Profile& profile) -> std::optional<Expected> {
      if (profile.name != "redis" || profile.users_own) return std::nullopt;
      return expected;
    };
  };
  list.push_back({.row = {.id = "2c",
                          .title = "control: as 2, and nobody checks",
                          .given = "A has asked with SET NX PX; the reply is on its way",
                          .when = "A is stopped for longer than the ttl; B gets the lock",
                          .then = "A wakes up, finds the reply, and believes it"},
                  .needs = {Can::cut_links},
                  .expected = on_redis(kNoTokens),
                  .play = unchecked});
  list.push_back({.row = {.id = "15c",
                          .title = "control: as 15, released by a plain DEL",
                          .given = "A holds the lock, and is stopped before it releases it",
                          .when = "the ttl passes and B gets the lock; A wakes up and sends DEL",
                          .then = "B's lock is gone, and C gets it"},
                  .needs = {Can::cut_links},
                  .expected = on_redis(kFenceSaves),
                  .play = plain_del});
  list.push_back({.row = {.id = "20",
                          .title = "control: SETNX, then EXPIRE",
                          .given = "A sets the lock with SETNX",
                          .when = "A dies before it sends EXPIRE",
                          .then = "nobody gets the lock ever after"},
                  .needs = {Can::cut_links},
                  .expected = on_redis({.stalled = Expect::yes, .stranded = Expect::yes}),
                  .play = setnx_expire});
  list.push_back({.row = {.id = "21",
                          .title = "control: SETNX and GETSET with timestamps",
                          .given = "A holds the lock; B's clock is two minutes ahead",
                          .when = "B finds A's timestamp in the past and takes over",
                          .then = "both believe"},
                  .needs = {Can::cut_links},
                  .expected = on_redis(kNoTokens),
                  .play = setnx_getset});
  list.push_back({.row = {.id = "22",
                          .title = "control: a lock table without expiry",
                          .given = "A holds the lock: a row of its own in a table",
                          .when = "A dies",
                          .then = "nobody gets the lock ever after"},
                  .needs = {Can::cut_links},
                  .expected = [](const Profile& profile) -> std::optional<Expected> {
                    const bool table = profile.name == "postgres" || profile.name == "mysql";
                    if (!table || profile.users_own) return std::nullopt;
                    return Expected{.stalled = Expect::yes, .stranded = Expect::yes};
                  },
                  .play = table_without_expiry});
}

}  // namespace holdfast::lab
