// Random mode: three clients take turns while faults are drawn, one at a time, by a seed. Which
// faults come, and for how long, follows from the seed alone; what they hit is up to the moment.
#include <random>

#include "lab/torture/torture.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using test::ProxyMode;

class RandomRun {
 public:
  RandomRun(Stage& stage, std::uint64_t seed, Duration duration)
      : stage_(stage), dice_(seed), duration_(duration), seed_(seed) {}

  void run() {
    for (const char* name : {"A", "B", "C"}) clients_.push_back(&stage_.client(name));
    for (Actor* client : clients_) {
      client->tell("contend " + std::to_string(duration_ / 1ms) + " " +
                   std::to_string(stage_.short_ttl() / 1ms) + " " + std::to_string(++seed_) + " 8");
    }
    const BootTime end = BootClock::now() + duration_;
    while (BootClock::now() < end - 1s) {
      look_after_pauses(200ms + below(800ms));
      one_fault();
    }
    stage_.heal();
    for (Actor* client : clients_) {
      const BootTime limit = BootClock::now() + 120s;
      while (!client->answers_within(100ms)) {
        continue_stopped();
        if (BootClock::now() > limit) throw Trouble(client->name() + " does not come to its end");
      }
      const int sections = std::stoi(client->answer(1s).substr(5));
      stage_.note(client->name() + ": " + std::to_string(sections) + " critical sections");
    }
    stage_.note(std::to_string(faults_) + " faults");
  }

 private:
  Duration below(Duration most) {
    return Duration(static_cast<std::int64_t>(dice_() % static_cast<std::uint64_t>(most.count())));
  }
  template <class T>
  T pick(const std::vector<T>& list) {
    return list[dice_() % list.size()];
  }

  void continue_stopped() {
    for (Actor* client : clients_) {
      if (client->alive() && client->is_stopped()) client->resume();
    }
  }

  // Clients stop themselves; each sleeps for a while, now and then for longer than its ttl.
  void look_after_pauses(Duration span) {
    const BootTime end = BootClock::now() + span;
    while (BootClock::now() < end) {
      for (Actor* client : clients_) {
        if (!client->is_stopped()) {
          wakes_.erase(client);
        } else if (!wakes_.contains(client)) {
          wakes_[client] = BootClock::now() + below(2 * stage_.short_ttl());
        } else if (BootClock::now() >= wakes_[client]) {
          client->resume();
          wakes_.erase(client);
        }
      }
      stage_.wait(10ms);
    }
  }

  std::vector<int> some_servers() {
    const int count = stage_.site().count();
    if (count == 1 || dice_() % 4 == 0) return stage_.site().all();
    return {1 + static_cast<int>(dice_() % static_cast<std::uint64_t>(count))};
  }

  void one_fault() {
    std::vector<Can> menu;
    for (const Can can : stage_.profile().can) {
      if (can < Can::restore) menu.push_back(can);  // The others need an arrangement, as below.
    }
    if (menu.empty()) return;  // Clients pause, and that is all.
    ++faults_;
    Actor& client = *pick(clients_);
    const Duration lasts = 100ms + below(stage_.short_ttl() * 3 / 2);
    switch (pick(menu)) {
      case Can::cut_links: cut(client); break;
      case Can::pause_servers: stage_.pause_servers(some_servers()); break;
      case Can::move_wall:
        stage_.jump_wall(some_servers(), std::chrono::seconds(1 + dice_() % 10));
        break;
      // Of a quorum always the same one: who forgets is silent for a minute, and three silent ones
      // are no majority.
      case Can::restart_empty: stage_.restart_servers({1}, "and empty"); break;
      case Can::restart_full:
        if (!stage_.profile().can.contains(Can::restart_empty)) {
          stage_.restart_servers({some_servers().front()}, "with its data");
        }
        break;
      case Can::kill_sessions:
        stage_.site().kill_sessions();
        stage_.fault("all sessions ended by the server");
        break;
      case Can::move_monotonic:
      case Can::lose_a_second:
      case Can::restore:
      case Can::stall_disk:
      case Can::fill_memory:
      case Can::set_defaults:
      case Can::fail_over: break;  // They need an arrangement: see the scenarios.
    }
    look_after_pauses(lasts);
    stage_.heal();
  }

  void cut(Actor& client) {
    static const std::vector<ProxyMode> kModes = {ProxyMode::delay, ProxyMode::hold,
                                                  ProxyMode::drop};
    const ProxyMode mode = pick(kModes);
    switch (dice_() % 4) {
      case 0: stage_.links(client, mode, ProxyMode::pass, 80ms); break;
      case 1: stage_.links(client, ProxyMode::pass, mode, 80ms); break;
      case 2: stage_.links(client, mode, mode, 80ms); break;
      default: stage_.cut_off(client, some_servers());
    }
  }

  Stage& stage_;
  std::mt19937_64 dice_;
  const Duration duration_;
  std::uint64_t seed_;
  std::vector<Actor*> clients_;
  std::map<Actor*, BootTime> wakes_;
  int faults_ = 0;
};

// Results that may occur under any faults; all others must not.
std::optional<Expected> expected_of_random(const Profile& profile) {
  // A store that forgets its tokens begins at its clock, which these runs move to and fro.
  const bool forgets = profile.can.contains(Can::restart_empty) && !profile.quorum;
  return Expected{.overlap = Expect::may,
                  .harm_unfenced = Expect::may,
                  .harm_write_fenced = Expect::may,
                  .token_order = forgets ? Expect::may : Expect::no,
                  .stalled = Expect::may};
}

}  // namespace

void play_random(Stage& stage, std::uint64_t seed, Duration duration) {
  RandomRun(stage, seed, duration).run();
}

Scenario random_scenario(std::uint64_t seed, Duration duration) {
  return {
      .row = {.id = "random",
              .title = "random faults, from seed " + std::to_string(seed),
              .given = "three clients take turns, and stop themselves now and then",
              .when = "faults come one after the other: links, servers, clocks",
              .then = "with a full fence no update is lost, and in the end somebody gets the lock"},
      .expected = expected_of_random,
      .play = [seed, duration](Stage& stage) { play_random(stage, seed, duration); }};
}

}  // namespace holdfast::lab
