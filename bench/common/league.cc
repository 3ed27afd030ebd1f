#include "league.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

namespace holdfast::bench {

namespace {

constexpr const char* kUnknown = "what?";

void drop_absent(Comparison& comparison) {
  std::erase_if(comparison.contestants,
                [](const Contestant& each) { return each.values.empty() && each.note.empty(); });
}

Contestant& of(Comparison& comparison, const std::string& name) {
  return *std::ranges::find(comparison.contestants, name, &Contestant::name);
}

void add_figure(Contestant& contestant, const std::string& name, double value) {
  auto found = std::ranges::find(contestant.figures, name,
                                 &std::pair<std::string, std::vector<double>>::first);
  if (found == contestant.figures.end()) {
    found = contestant.figures.insert(found, {name, {}});
  }
  found->second.push_back(value);
}

}  // namespace

League::League(LeaguePlan plan, LeagueServer server, std::vector<Entrant> entrants, Report& report)
    : plan_(plan), server_(std::move(server)), report_(report) {
  for (Entrant& entrant : entrants) teams_.push_back({.entrant = std::move(entrant)});
}

std::list<Worker>* League::workers_of(Team& team, int count) {
  if (!team.failure.empty()) return nullptr;
  std::vector<std::string> command = team.entrant.command;
  command.push_back(server_.url);
  while (std::ssize(team.workers) < count) team.workers.emplace_back(command);
  return &team.workers;
}

void League::give_up(Team& team, const std::string& why) {
  if (team.entrant.role == Role::ours) throw std::runtime_error(why);
  team.failure = why.substr(0, 160);
  team.workers.clear();
  report_.note(team.entrant.name + " is left out from here on: " + why);
}

Comparison League::comparison(const std::string& name, const std::string& what, const char* unit,
                              Bar::Side better, std::vector<Claim> claims) const {
  Comparison all{.name = name,
                 .what = what,
                 .unit = unit,
                 .better = better,
                 .contestants = {},
                 .claims = std::move(claims)};
  for (const Team& team : teams_) {
    all.contestants.push_back(
        {.name = team.entrant.name, .role = team.entrant.role, .values = {}, .note = team.failure});
  }
  return all;
}

// play(team, warm): once for each that is not out, before the first repetition with `warm` true.
template <class F>
void League::each_repetition(const std::string& what, F play) {
  for (int i = -1; i < plan_.repetitions; ++i) {
    for (Team& team : teams_) {
      if (!team.failure.empty()) continue;
      report_.progress(
          what + ", " + team.entrant.name +
          (i < 0 ? ": warming up" : format(": repetition %d of %d", i + 1, plan_.repetitions)));
      try {
        server_.flush();
        play(team, i < 0);
      } catch (const std::exception& error) {
        give_up(team, error.what());
      }
    }
  }
}

void League::pairs(const std::string& name, const std::string& what, const std::string& verb,
                   int workers, std::vector<Claim> claims) {
  Comparison all = comparison(name, what, "pairs/s", Bar::Side::at_least, std::move(claims));
  each_repetition(what, [&](Team& team, bool warm) {
    Worker& worker = workers_of(team, 1)->front();
    const Seconds span = warm ? std::min(plan_.warm_up, 2 * plan_.span) : plan_.span;
    const std::string line = workers == 1
                                 ? format("pairs solo %.3f", span.count())
                                 : format("%s %d %.3f", verb.c_str(), workers, span.count());
    const std::string answer = worker.ask(line);
    if (warm || answer == kUnknown) return;
    of(all, team.entrant.name).values.push_back(std::stod(answer));
  });
  drop_absent(all);
  report_.add(std::move(all));
}

League::Outcome League::play(std::list<Worker>& workers, const Contest& contest, Seconds warm_up,
                             bool count) {
  const std::string line =
      format("contend %s 1 %d %d", contest.name.c_str(), contest.hold_us, contest.pause_us);
  for (Worker& worker : workers) worker.send(line);
  bool known = true;
  for (Worker& worker : workers) known = worker.answer() != kUnknown && known;
  if (!known) return {};
  std::this_thread::sleep_for(warm_up);
  const std::int64_t from = monotonic_ns();
  std::this_thread::sleep_for(plan_.span);
  const std::int64_t to = monotonic_ns();
  // Counted in a time of its own: a server that is watched is slower.
  double commands = 0;
  std::int64_t counted_from = 0, counted_to = 0;
  if (count && server_.commands_during) {
    commands = server_.commands_during([&] {
      counted_from = monotonic_ns();
      std::this_thread::sleep_for(plan_.span / 2);
      counted_to = monotonic_ns();
    });
  }
  for (Worker& worker : workers) worker.send("stop");
  std::vector<Pass> passes;
  int number = 0;
  for (Worker& worker : workers) {
    for (Pass& pass : passes_of(worker.answer())) {
      pass.worker = number;
      passes.push_back(pass);
    }
    ++number;
  }
  Outcome outcome{.known = true, .hand_offs = hand_offs(passes, from, to), .commands_each = {}};
  if (counted_to > counted_from) {
    const HandOffs counted = hand_offs(std::move(passes), counted_from, counted_to);
    const double changes = counted.per_s * static_cast<double>(counted_to - counted_from) / 1e9;
    if (changes > 0) outcome.commands_each = commands / changes;
  }
  return outcome;
}

void League::contest(const Contest& contest) {
  Comparison owners = comparison(contest.name + "_owners", "changes of owner, " + contest.what,
                                 "owners/s", Bar::Side::at_least, contest.owner_claims);
  Comparison gaps = comparison(contest.name + "_gap", "gap p50, " + contest.what, "us",
                               Bar::Side::at_most, contest.gap_claims);
  Comparison commands =
      comparison(contest.name + "_commands", "commands per hand-off, " + contest.what, "commands",
                 Bar::Side::at_most, contest.command_claims);
  each_repetition(contest.what, [&](Team& team, bool warm) {
    std::list<Worker>& workers = *workers_of(team, plan_.processes);
    const Outcome outcome = play(workers, contest, warm ? plan_.warm_up : plan_.span / 5, !warm);
    if (warm || !outcome.known) return;
    // Who changed not once in the whole time: less than once in it.
    const double least = 1 / plan_.span.count();
    of(owners, team.entrant.name).values.push_back(std::max(outcome.hand_offs.per_s, least));
    if (outcome.hand_offs.count == 0) return;
    Contestant& gap = of(gaps, team.entrant.name);
    gap.values.push_back(outcome.hand_offs.p50_us);
    add_figure(gap, "p99_us", outcome.hand_offs.p99_us);
    add_figure(gap, "p999_us", outcome.hand_offs.p999_us);
    if (outcome.commands_each) {
      of(commands, team.entrant.name).values.push_back(*outcome.commands_each);
    }
  });
  for (Comparison* each : {&owners, &gaps, &commands}) {
    drop_absent(*each);
    const bool measured = std::ranges::any_of(
        each->contestants, [](const Contestant& contestant) { return !contestant.values.empty(); });
    if (measured) report_.add(std::move(*each));
  }
}

void League::mix(const std::string& name, const std::string& what, int write_percent, int hold_us,
                 std::vector<Claim> claims) {
  Comparison all = comparison(name, what, "pairs/s", Bar::Side::at_least, std::move(claims));
  each_repetition(what, [&](Team& team, bool warm) {
    std::list<Worker>& workers = *workers_of(team, plan_.processes);
    const Seconds span = warm ? plan_.warm_up / 2 : plan_.span;
    const std::string line =
        format("mix %s %.3f %d %d", name.c_str(), span.count(), write_percent, hold_us);
    for (Worker& worker : workers) worker.send(line);
    double sum = 0;
    bool known = true;
    for (Worker& worker : workers) {
      const std::string answer = worker.answer();
      if (answer == kUnknown) {
        known = false;
      } else {
        sum += std::stod(answer);
      }
    }
    if (known && !warm) of(all, team.entrant.name).values.push_back(sum);
  });
  drop_absent(all);
  report_.add(std::move(all));
}

}  // namespace holdfast::bench
