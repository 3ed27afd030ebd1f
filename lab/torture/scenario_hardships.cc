// Rows 28 to 33: servers that run, and are not as one is used to: slow disks, no memory, waiters that
// do not answer, other settings than ours.
#include "lab/torture/scenario.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

void stalled_disk(Stage& stage) {
  stage.use_once();
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, stage.short_ttl());
  stage.begin_acquire(b, Stage::kLongTtl, stage.patience() + 30s);
  stage.wait(100ms);
  stage.stall_disks();
  stage.wait(stage.short_ttl() + 1s);
  stage.heal();
  // Where renewals need no disk, A has outlived it.
  if (!b.answers_within(stage.short_ttl() + 1s)) a.ask("release");
  if (!stage.answer_is_granted(b)) return stage.note_stalled(b);
  stage.work(a, b);
}

// The holder keeps what it has while nothing new can be stored.
void out_of_memory(Stage& stage, bool shared) {
  stage.break_in();
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  const Duration ttl = stage.short_ttl();
  if (!shared) {
    stage.must_acquire(a, ttl);
  } else if (!stage.acquire_shared(a, ttl, 10s)) {
    throw Trouble("A did not get the lock to begin with");
  }
  stage.fill_memory();
  stage.wait(2 * ttl);
  if (a.ask("held") != "yes") stage.note_stalled(a);
  if (stage.acquire(b, Stage::kLongTtl, 500ms)) stage.work(a, b);
}

void stopped_waiters(Stage& stage) {
  constexpr int kStopped = 4;
  Actor& a = stage.client("A");
  stage.must_acquire(a, Stage::kLongTtl);
  std::vector<Actor*> waiters;
  for (int i = 0; i < kStopped; ++i) {
    waiters.push_back(&stage.client("W" + std::to_string(i + 1)));
    stage.begin_acquire(*waiters.back(), stage.short_ttl(), 60s);
    stage.wait(200ms);
  }
  Actor& c = stage.client("C");
  // Each stopped one may be given the lock and keep it for its ttl; and C looks for itself at a pace
  // that follows from its own ttl, at most every 15 s.
  stage.begin_acquire(c, stage.short_ttl(), (kStopped + 1) * stage.short_ttl() + 15s);
  stage.wait(300ms);
  for (Actor* waiter : waiters) waiter->stop("while it waits");
  const BootTime begin = BootClock::now();
  a.ask("release");
  const bool granted = stage.answer_is_granted(c);
  stage.note("C got the lock " + in_ms(BootClock::now() - begin) + " after the release");
  for (Actor* waiter : waiters) waiter->resume();
  if (!granted) stage.note_stalled(c);
  for (Actor* waiter : waiters) {
    // Some wait until C's ttl is over, which nobody waits for here.
    if (waiter->answers_within(100ms) && stage.answer_is_granted(*waiter)) {
      stage.work(c, *waiter, {"ABAB"});
    }
  }
  stage.step(c, "turn");
  stage.step(c, "turn");
  c.ask("release");
  for (Actor* waiter : waiters) waiter->kill();
}

void other_settings(Stage& stage) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  Actor& c = stage.client("C");
  int seed = 0;
  for (Actor* client : {&a, &b, &c}) {
    client->tell("contend 1500 30000 " + std::to_string(++seed) + " 0");
  }
  for (Actor* client : {&a, &b, &c}) {
    if (client->answer(60s) == "done 0") stage.note_stalled(*client);
  }
  // Longer than idle sessions live here.
  stage.must_acquire(a, 10s);
  stage.begin_acquire(b, Stage::kLongTtl, stage.patience() + 30s);
  stage.wait(3500ms);
  if (b.answers_within(0ms)) {
    static_cast<void>(stage.answer_is_granted(b));
    return stage.work(a, b);
  }
  stage.step(a, "turn");
  stage.step(a, "turn");
  if (a.ask("held") != "yes") stage.note_stalled(a);
  a.ask("release");
  if (!stage.answer_is_granted(b)) return stage.note_stalled(b);
  stage.step(b, "turn");
  stage.step(b, "turn");
}

Scenario memory_row(const std::string& id, const std::string& title, bool shared) {
  return {.row = {.id = id,
                  .title = title,
                  .given = shared ? "A holds the lock as a reader and renews it"
                                  : "A holds the lock and renews it",
                  .when = "the servers have no memory for anything new, for two ttls",
                  .then = "A keeps the lock; B does not get it"},
          .needs = {Can::fill_memory},
          .expected = [shared](const Profile& profile) -> std::optional<Expected> {
            if (profile.name != "memcached") return kSafe;
            if (shared) return std::nullopt;  // It has no readers.
            return Expected{.overlap = Expect::may,
                            .harm_unfenced = Expect::may,
                            .harm_write_fenced = Expect::may,
                            .stalled = Expect::yes};
          },
          .play = [shared](Stage& stage) { out_of_memory(stage, shared); },
          .why = [](const Profile& profile) -> std::string {
            if (profile.name != "memcached") return "";
            return "It makes room by evicting what was used longest ago, the lock among it: A "
                   "learns of it at its next renewal. Give locks a memcached of their own.";
          }};
}

Scenario settings_row(const std::string& id, const std::string& title, const std::string& when,
                      Defaults defaults) {
  return {.row = {.id = id,
                  .title = title,
                  .given = "three clients take turns; then A holds, and B waits",
                  .when = when,
                  .then = "each has its turns, A keeps the lock, and B gets it when A releases"},
          .site = {.defaults = defaults},
          .needs = {Can::set_defaults},
          .expected = safe,
          .play = other_settings};
}

}  // namespace

void add_hardships(std::vector<Scenario>& list) {
  list.push_back({.row = {.id = "28",
                          .title = "the disks stall for longer than the ttl",
                          .given = "A holds the lock and is well; B waits",
                          .when = "what the servers sync does not come back from the disk",
                          .then = "A's own clock tells it that the lock may be gone"},
                  .site = {.keeping = Keeping::everything, .syncs = true},
                  .needs = {Can::stall_disk},
                  .expected = safe,
                  .play = stalled_disk});
  list.push_back(memory_row("29", "the servers run out of memory", false));
  list.push_back(memory_row("30", "as 29, and the holder is a reader", true));
  list.push_back({.row = {.id = "31",
                          .title = "four waiters are stopped in the queue",
                          .given = "A holds the lock, four wait, and C waits behind them",
                          .when = "the four are stopped; then A releases",
                          .then = "C gets the lock after five ttls and 15 s at most"},
                  .expected = safe,
                  .play = stopped_waiters});
  list.push_back(settings_row("32", "the server's defaults are strict",
                              "nothing commits by itself, all transactions are serializable, and a "
                              "lock that waits too long ends its transaction",
                              Defaults::strict));
  list.push_back(settings_row("33", "the server's defaults are lax, and idle sessions end",
                              "transactions read what is not committed, and sessions end that are "
                              "idle for two seconds",
                              Defaults::lax));
}

}  // namespace holdfast::lab
