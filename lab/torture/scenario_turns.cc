// Rows 19, 23 and 24: many clients, and nothing or little goes wrong.
#include <algorithm>

#include "lab/torture/scenario.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

constexpr auto kTurns = 2000ms;

void take_turns(Stage& stage, int count) {
  std::vector<Actor*> clients;
  for (int i = 0; i < count; ++i) clients.push_back(&stage.client(std::string(1, char('A' + i))));
  int seed = 0;
  for (Actor* client : clients) {
    // A long ttl: on a machine that stalls, a short one would end by itself.
    client->tell("contend " + std::to_string(kTurns.count()) + " 30000 " + std::to_string(++seed) +
                 " 0");
  }
  std::string sections;
  int least = 1 << 30;
  for (Actor* client : clients) {
    const int done = std::stoi(client->answer(180s).substr(5));
    sections += (sections.empty() ? "" : ", ") + std::to_string(done);
    least = std::min(least, done);
    if (done == 0) stage.note_stalled(*client);
  }
  stage.note("critical sections per client: " + sections);
}

void two_down_one_slow(Stage& stage) {
  stage.break_in();
  stage.client("A");
  stage.client("B");
  stage.client("C");
  stage.kill_servers({2, 5});
  for (const char* name : {"A", "B", "C"}) {
    stage.site().way(name, 3).set_both(test::ProxyMode::delay, 50ms);
  }
  stage.fault("server 3 slow: 100 ms", [&stage] { stage.site().reach_all(); });
  take_turns(stage, 3);
}

}  // namespace

void add_turns(std::vector<Scenario>& list) {
  const auto quorum_only = [](const Profile& profile) -> std::optional<Expected> {
    if (!profile.quorum) return std::nullopt;
    return kSafe;
  };
  list.push_back({.row = {.id = "19",
                          .title = "no fault: four clients take turns",
                          .given = "four clients want the lock again and again",
                          .when = "nothing goes wrong",
                          .then = "each has its turns, and no update is lost"},
                  .expected = safe,
                  .play = [](Stage& stage) { take_turns(stage, 4); }});
  list.push_back({.row = {.id = "23",
                          .title = "three clients split the votes",
                          .given = "five servers",
                          .when = "three clients ask at the same moment, again and again",
                          .then = "each gets the lock within a few attempts"},
                  .expected = quorum_only,
                  .play = [](Stage& stage) { take_turns(stage, 3); }});
  list.push_back({.row = {.id = "24",
                          .title = "two of five servers down, one slow",
                          .given = "servers 2 and 5 are down, server 3 answers after 100 ms",
                          .when = "three clients take turns",
                          .then = "each gets the lock"},
                  .needs = {Can::cut_links, Can::restart_empty},
                  .expected = quorum_only,
                  .play = two_down_one_slow});
}

}  // namespace holdfast::lab
