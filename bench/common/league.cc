#include "league.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include "process.h"

namespace holdfast::bench {

namespace {

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

// Client and server on these CPUs, until it ends.
class Placement {
 public:
  Placement(League::Place place, const LeagueServer& server, pid_t client,
            const std::vector<int>& client_cpus) {
    if (place == League::Place::as_it_is) return;
    for (const pid_t process : server.processes) pin(process, {server.cpu});
    pin(client, place == League::Place::same_cpu ? std::vector<int>{server.cpu}
                                                 : std::vector<int>{client_cpus.back()});
  }
  ~Placement() {
    for (const auto& [process, cpus] : before_) pin_process(process, cpus);
  }
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

 private:
  void pin(pid_t process, const std::vector<int>& cpus) {
    before_.emplace_back(process, allowed_cpus_of(process));
    pin_process(process, cpus);
  }
  std::vector<std::pair<pid_t, std::vector<int>>> before_;
};

}  // namespace

League::League(LeaguePlan plan, LeagueServer server, std::vector<Entrant> entrants, Report& report)
    : plan_(plan), server_(std::move(server)), client_cpus_(allowed_cpus()), report_(report) {
  for (Entrant& entrant : entrants)
    teams_.push_back({.entrant = std::move(entrant), .workers = {}});
}

std::vector<Worker>& League::workers_of(Team& team, int count) {
  std::vector<std::string> command = team.entrant.command;
  command.push_back(team.entrant.url.empty() ? server_.url : team.entrant.url);
  while (std::ssize(team.workers) < count) team.workers.emplace_back(command);
  return team.workers;
}

Seconds League::warm_up(Team& team, int count) const {
  const auto wanted = static_cast<std::size_t>(count);
  return std::exchange(team.warm, std::max(team.warm, wanted)) < wanted ? plan_.warm_up
                                                                        : plan_.span / 4;
}

void League::give_up(Team& team, const std::string& why) {
  if (team.entrant.role == Role::ours) throw std::runtime_error(why);
  team.failure = why.substr(0, 160);
  team.workers.clear();
  report_.note(team.entrant.name + " is left out from here on: " + why);
}

Comparison League::comparison(const std::string& name, const std::string& what, const char* unit,
                              Target::Side better, std::vector<Target> targets) const {
  Comparison all{.name = name,
                 .what = what,
                 .unit = unit,
                 .better = better,
                 .contestants = {},
                 .targets = std::move(targets)};
  for (const Team& team : teams_) {
    all.contestants.push_back(
        {.name = team.entrant.name, .role = team.entrant.role, .values = {}, .note = team.failure});
  }
  return all;
}

void League::add(Comparison comparison) {
  drop_absent(comparison);
  const bool measured =
      std::ranges::any_of(comparison.contestants,
                          [](const Contestant& contestant) { return !contestant.values.empty(); });
  if (measured) report_.add(std::move(comparison));
}

void League::wait_for_quiet() const {
  const auto used_s = [&] {
    double sum = 0;
    for (const Team& team : teams_) {
      for (const Worker& worker : team.workers) sum += cpu_seconds(worker.pid());
    }
    return sum;
  };
  constexpr Seconds kLook{0.02}, kLongest{1};
  constexpr double kQuiet = 0.05;  // of a CPU
  double before = used_s();
  for (Seconds waited{0}; waited < kLongest; waited += kLook) {
    std::this_thread::sleep_for(kLook);
    const double now = used_s();
    if (now - before < kQuiet * kLook.count()) return;
    before = now;
  }
}

// play(team, warm): once for each that is not out, before the first repetition with `warm` true.
template <class F>
void League::each_repetition(const std::string& what, F play) {
  std::vector<Team*> turns;
  for (Team& team : teams_) turns.push_back(&team);
  for (int i = -1; i < plan_.repetitions; ++i) {
    // Every other time from the last to the first: what one leaves behind in the machine should not
    // always meet the same other.
    std::ranges::reverse(turns);
    for (Team* turn : turns) {
      Team& team = *turn;
      if (!team.failure.empty()) continue;
      report_.progress(
          what + ", " + team.entrant.name +
          (i < 0 ? ": warming up" : format(": repetition %d of %d", i + 1, plan_.repetitions)));
      try {
        server_.flush();
        wait_for_quiet();
        play(team, i < 0);
      } catch (const std::exception& error) {
        give_up(team, error.what());
      }
    }
  }
}

void League::pairs(const Pairs& pairs) {
  Comparison all =
      comparison(pairs.name, pairs.what, "pairs/s", Target::Side::at_least, pairs.targets);
  each_repetition(pairs.what, [&](Team& team, bool warm) {
    Worker& worker = workers_of(team, 1).front();
    const Placement placement(pairs.place, server_, worker.pid(), client_cpus_);
    const Seconds span = warm ? warm_up(team, 1) : plan_.span;
    const std::string line =
        pairs.workers == 1 ? format("pairs solo %.3f", span.count())
                           : format("%s %d %.3f", pairs.verb.c_str(), pairs.workers, span.count());
    const std::string answer = worker.ask(line, span);
    if (warm || answer == kUnknownLine) return;
    of(all, team.entrant.name).values.push_back(std::stod(answer));
  });
  add(std::move(all));
}

void League::contest(const Contest& contest) {
  Comparison owners = comparison(contest.name + "_owners", "changes of owner, " + contest.what,
                                 "owners/s", Target::Side::at_least, contest.owner_targets);
  Comparison gaps = comparison(contest.name + "_gap", "gap p50, " + contest.what, "us",
                               Target::Side::at_most, contest.gap_targets);
  Comparison commands =
      comparison(contest.name + "_commands", "commands per hand-off, " + contest.what, "commands",
                 Target::Side::at_most, contest.command_targets);
  each_repetition(contest.what, [&](Team& team, bool warm) {
    std::vector<Worker>& workers = workers_of(team, plan_.processes);
    Bout bout{.name = contest.name,
              .hold_us = contest.hold_us,
              .pause_us = contest.pause_us,
              .warm_up = plan_.span / 5,
              .span = plan_.span};
    if (warm) {
      bout.span = warm_up(team, plan_.processes);
      bout.warm_up = Seconds(0);
    }
    const auto outcome = play(workers, bout, warm ? CountDuring() : server_.commands_during);
    if (warm || !outcome) return;
    // No change of owner in the whole time counts as less than one.
    const double least = 1 / plan_.span.count();
    of(owners, team.entrant.name).values.push_back(std::max(outcome->hand_offs.per_s, least));
    if (outcome->hand_offs.count == 0) return;
    Contestant& gap = of(gaps, team.entrant.name);
    gap.values.push_back(outcome->hand_offs.p50_us);
    add_figure(gap, "p99_us", outcome->hand_offs.p99_us);
    add_figure(gap, "p999_us", outcome->hand_offs.p999_us);
    if (outcome->counted_each) {
      of(commands, team.entrant.name).values.push_back(*outcome->counted_each);
    }
  });
  add(std::move(owners));
  add(std::move(gaps));
  add(std::move(commands));
}

void League::mix(const std::string& name, const std::string& what, int write_percent, int hold_us,
                 std::vector<Target> targets) {
  Comparison all = comparison(name, what, "pairs/s", Target::Side::at_least, std::move(targets));
  each_repetition(what, [&](Team& team, bool warm) {
    std::vector<Worker>& workers = workers_of(team, plan_.processes);
    // A verb of its own, which nobody has compiled yet.
    const Seconds span = warm ? plan_.warm_up / 2 : plan_.span;
    const std::string line =
        format("mix %s %.3f %d %d", name.c_str(), span.count(), write_percent, hold_us);
    for (Worker& worker : workers) worker.send(line);
    double sum = 0;
    bool known = true;
    for (Worker& worker : workers) {
      const std::string answer = worker.answer();
      if (answer == kUnknownLine) {
        known = false;
      } else {
        sum += std::stod(answer);
      }
    }
    if (known && !warm) of(all, team.entrant.name).values.push_back(sum);
  });
  add(std::move(all));
}

}  // namespace holdfast::bench
