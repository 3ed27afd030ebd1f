#include "lab/torture/pairs.h"

#include <algorithm>

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

// Memcached counts seconds. Long enough that a holder still believes when servers are back that crashed.
Duration ttl_of(const Profile& profile) {
  return profile.ttl > 2s ? Duration(2s) : Duration(1500ms);
}

void contend(Actor& client, Duration span, Duration ttl, int seed, Duration first_turn) {
  // Sections of up to 20 ms, and up to 30 ms between turns: the machine has other cells to run.
  client.tell("contend " + std::to_string(span / 1ms) + " " + std::to_string(ttl / 1ms) + " " +
              std::to_string(seed) + " 0 " + std::to_string(first_turn / 1ms) + " 20 30");
}

void await_ends(Stage& stage, const std::vector<Actor*>& clients) {
  for (Actor* client : clients) {
    if (!client->alive()) continue;
    const std::string answer = client->answer(90s);
    stage.note(client->name() + ": " + answer.substr(5) + " critical sections");
  }
}

void play(Stage& stage, const Fault& first, const Fault& second) {
  const Duration ttl = ttl_of(stage.profile());
  const auto has = [&](Can need) {
    return first.needs.contains(need) || second.needs.contains(need);
  };
  stage.use_once();
  if (has(Can::restore)) stage.back_up(stage.site().all());
  Actor& a = stage.client("A");
  Actor& b = stage.client("B");
  Actor& c = stage.client("C");
  if (has(Can::fail_over)) stage.site().cut_replication();
  const Duration span = 300ms + 2 * ttl;
  contend(a, span, ttl, 1, 300ms + ttl);
  stage.wait(100ms);
  contend(b, span - 100ms, ttl, 2, 0ms);
  contend(c, span - 100ms, ttl, 3, 0ms);
  stage.wait(200ms);
  first.begin(stage, a);
  stage.wait(ttl / 4);
  second.begin(stage, first.hits_a_client ? b : a);
  stage.wait(6 * ttl / 5);
  stage.heal();
  await_ends(stage, {&a, &b, &c});
}

std::optional<Expected> expected_of(const Fault& first, const Fault& second,
                                    const Profile& profile) {
  Expected expected{.stalled = Expect::may};
  if (first.breaks_exclusion(profile) || second.breaks_exclusion(profile)) {
    expected.overlap = Expect::may;
    expected.harm_unfenced = Expect::may;
    expected.harm_write_fenced = Expect::may;
  }
  const bool forgets = first.forgets(profile) || second.forgets(profile);
  // After a jump ahead, a server whose clock is right is behind.
  const bool back = first.sets_clocks_back || second.sets_clocks_back ||
                    (first.moves_clocks && second.other_clock);
  // Tokens that begin at a clock outlast a memory that is lost, unless the clock is lost as well.
  // Those of servers that agree are counted in what they remember.
  if (forgets && (back || profile.consensus)) {
    expected.harm_fenced = Expect::may;
    expected.token_order = Expect::may;
  }
  return expected;
}

std::string why(const Fault& first, const Fault& second, const Profile& profile) {
  const Expected expected = *expected_of(first, second, profile);
  if (expected.harm_fenced != Expect::may) return "";
  return profile.consensus ? "Revisions and transaction ids go on from those of the backup."
                           : "What was granted is forgotten and the clock is set back: nothing is "
                             "left to tell an old token from a new one.";
}

Scenario pair_of(const Fault& first, const Fault& second) {
  std::set<Can> needs = first.needs;
  needs.insert(second.needs.begin(), second.needs.end());
  return {.row = {.id = first.id + "+" + second.id,
                  .title = first.title + "; " + second.title,
                  .given = "A holds the lock; B and C wait for it",
                  .when = first.title + "; a quarter of a ttl later, " + second.title,
                  .then = "both are undone; with a full fence no update is lost, and a newcomer "
                          "gets the lock"},
          .site = {.keeping = Keeping::everything,
                   .replica = needs.contains(Can::fail_over),
                   .syncs = needs.contains(Can::stall_disk),
                   .short_ttls = true},
          .needs = needs,
          .expected = [&](const Profile& profile) { return expected_of(first, second, profile); },
          .play = [&](Stage& stage) { play(stage, first, second); },
          .why = [&](const Profile& profile) { return why(first, second, profile); }};
}

}  // namespace

std::vector<Scenario> pairs_of(const std::vector<const Fault*>& chosen) {
  std::vector<Scenario> list;
  const auto wanted = [&](const Fault& fault) {
    return chosen.empty() || std::ranges::find(chosen, &fault) != chosen.end();
  };
  for (auto first = faults().begin(); first != faults().end(); ++first) {
    for (auto second = first + 1; second != faults().end(); ++second) {
      if (wanted(*first) && wanted(*second)) list.push_back(pair_of(*first, *second));
    }
  }
  return list;
}

}  // namespace holdfast::lab
