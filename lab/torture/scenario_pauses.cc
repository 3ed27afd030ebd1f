// Rows 1 to 3: a holder that acts too late, and what it sent that arrives too late.
#include "lab/torture/scenario.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using test::Direction;
using test::ProxyMode;
using Eyes = Stage::Eyes;

// Everywhere: no lock can stop a process that does not know that it was stopped.

void pause_after_the_check(Stage& stage) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, stage.short_ttl());
  // Two sheets, since A wakes up at one moment only: between B's read and B's write on one, after
  // both on the other.
  stage.step(a, "ABAB");
  stage.step(a, "ABBA");
  a.tell("stop after its check");
  a.wait_until_stopped();
  if (!stage.acquire(b, Stage::kLongTtl, stage.patience())) {
    stage.note_stalled(b);
    a.resume();
    a.answer(60s);
    return;
  }
  stage.step(b, "ABAB");
  stage.step(b, "ABBA");
  stage.step(b, "ABBA");
  a.resume();
  a.answer(60s);
  stage.step(a, "ABAB", Eyes::blind);
  stage.step(a, "ABBA", Eyes::blind);
  stage.step(b, "ABAB");
}

void pause_before_the_check(Stage& stage) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, stage.short_ttl());  // It has its connections now.
  a.ask("release");
  const auto before = stage.bytes(a, Direction::to_client);
  stage.links(a, ProxyMode::pass, ProxyMode::hold);
  stage.begin_acquire(a, stage.short_ttl(), 0s);
  stage.wait_for_bytes(a, Direction::to_client, before);
  stage.wait(50ms);
  a.stop("before its check");
  stage.links(a, ProxyMode::pass, ProxyMode::pass);
  const bool granted = stage.acquire(b, Stage::kLongTtl, stage.patience());
  a.resume();
  static_cast<void>(stage.answer_is_granted(a));
  if (!granted) return stage.note_stalled(b);
  stage.work(a, b, {"BAAB", "BABA", "BBAA"});
}

void late_write(Stage& stage) {
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  stage.must_acquire(a, stage.short_ttl());
  stage.step(a, "ABAB");
  stage.step(a, "ABBA");
  const std::string first = a.ask("send ABAB");
  const std::string second = a.ask("send ABBA");
  a.kill();
  if (!stage.acquire(b, Stage::kLongTtl, stage.patience())) return stage.note_stalled(b);
  stage.step(b, "ABAB");
  stage.step(b, "ABBA");
  stage.step(b, "ABBA");
  stage.fault("A's writes arrive");
  stage.deliver(a, first);
  stage.deliver(a, second);
  stage.step(b, "ABAB");
}

}  // namespace

void add_pauses(std::vector<Scenario>& list) {
  list.push_back(
      {.row = {.id = "1",
               .title = "the holder pauses after its last check",
               .given = "A holds the lock, has checked it and has read",
               .when = "A is stopped for longer than its ttl; B gets the lock, reads and writes",
               .then = "A wakes up and writes without another look"},
       .expected = fence_saves,
       .play = pause_after_the_check});
  list.push_back({.row = {.id = "2",
                          .title = "the client pauses before its check",
                          .given = "A has asked; the replies are on their way",
                          .when = "A is stopped for longer than the ttl; B gets the lock",
                          .then = "A wakes up, finds the replies, and must not believe them"},
                  .needs = {Can::cut_links},
                  .expected = safe,
                  .play = pause_before_the_check});
  list.push_back(
      {.row = {.id = "3",
               .title = "a write is under way for too long",
               .given = "A holds the lock, has read, and sends its write",
               .when = "the write is delayed, A dies, and B gets the lock, reads and writes",
               .then = "A's write arrives"},
       // Nobody believed at the same time; the harm is there all the same.
       .expected = [](const Profile&) -> std::optional<Expected> {
         return Expected{.harm_unfenced = Expect::yes, .harm_write_fenced = Expect::yes};
       },
       .play = late_write});
}

}  // namespace holdfast::lab
