#include "lab/torture/torture.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <exception>
#include <thread>

#include "holdfast/result.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

std::string machine_text() {
  utsname system{};
  uname(&system);
  return std::to_string(std::thread::hardware_concurrency()) + " processors, " + system.sysname +
         " " + system.release;
}

// How telling a run is.
int weight_of(const Diagnosis& finding) {
  int weight = 0;
  for (const LostUpdate& update : finding.lost_updates) {
    weight = std::max(weight, 2 + static_cast<int>(update.resource.fence));
  }
  return std::max(weight, finding.overlaps.empty() ? 0 : 1);
}

void keep(Cell& cell, std::uint64_t number, History history, Diagnosis finding) {
  if (!cell.kept.empty() && weight_of(cell.kept.front().finding) >= weight_of(finding)) return;
  cell.kept.clear();
  cell.kept.push_back({number, std::move(history), std::move(finding)});
}

void add_notes(Cell& cell, const std::vector<std::string>& notes, const Diagnosis& finding) {
  constexpr std::size_t kMost = 6;
  for (const std::string& text : notes) {
    if (cell.notes.size() < kMost) cell.notes.push_back(text);
  }
  for (const std::string& trouble : finding.token_troubles) {
    if (cell.notes.size() < kMost) cell.notes.push_back("tokens: " + trouble);
  }
  if (!finding.overtakings.empty() && cell.notes.size() < kMost) {
    cell.notes.push_back(std::to_string(finding.overtakings.size()) + " of " +
                         std::to_string(finding.grants) +
                         " grants overtook somebody who had asked "
                         "50 ms earlier");
  }
}

class Series {
 public:
  Series(const TorturePlan& plan, std::stop_token stop,
         const std::function<void(const TortureProgress&)>& progress)
      : plan_(plan), stop_(std::move(stop)), progress_(progress) {}

  Report run() {
    report_.title = plan_.random ? "Holdfast torture: random faults" : "Holdfast torture";
    report_.made_at = now_text();
    report_.machine = machine_text();
    choose_engines();
    random_ = random_scenario(plan_.seed, plan_.duration);
    std::vector<const Scenario*> list = plan_.scenarios;
    if (plan_.random) list = {&random_};
    lay_out(list);
    try {
      for (const Scenario* scenario : list) {
        for (const Profile* profile : engines_) run_cell(*scenario, *profile);
      }
    } catch (const Interrupted&) {
      report_.partial = true;
    }
    return std::move(report_);
  }

 private:
  void choose_engines() {
    for (const Profile& profile : plan_.engines) {
      if (const auto missing = profile.missing()) {
        report_.warnings.push_back(profile.name + " was left out: " + *missing);
        continue;
      }
      engines_.push_back(&profile);
      report_.engines.push_back(profile.name);
    }
  }

  // The whole matrix, before anything is run: what Ctrl-C leaves out is there as not run.
  void lay_out(const std::vector<const Scenario*>& list) {
    for (const Scenario* scenario : list) {
      bool anywhere = false;
      for (const Profile* profile : engines_) {
        const auto expected = scenario->expected_of(*profile);
        if (!expected) continue;
        Cell& cell = report_.at(scenario->row.id, profile->name);
        cell.expected = *expected;
        if (scenario->why) cell.why = scenario->why(*profile);
        anywhere = true;
        ++where_.cells;
      }
      if (anywhere) report_.rows.push_back(scenario->row);
    }
    where_.cells -= 1;  // It began with one.
    where_.cell = 0;
  }

  void run_cell(const Scenario& scenario, const Profile& profile) {
    if (!report_.find(scenario.row.id, profile.name)) return;
    Cell& cell = report_.at(scenario.row.id, profile.name);
    ++where_.cell;
    where_.scenario = scenario.row.id;
    where_.engine = profile.name;
    for (unsigned run = 1; run <= plan_.repeat; ++run) {
      where_.run = run;
      progress_(where_);
      if (plan_.random) random_ = random_scenario(plan_.seed + run - 1, plan_.duration);
      run_once(plan_.random ? random_ : scenario, profile, cell);
    }
    if (!cell.differences().empty()) where_.as_expected = false;
  }

  void run_once(const Scenario& scenario, const Profile& profile, Cell& cell) {
    const std::uint64_t number = cell.tally.runs + 1;
    std::string trouble;
    try {
      Stage stage(profile, scenario.site, stop_);
      try {
        scenario.play(stage);
        stage.finish();
        History history = stage.history();
        Diagnosis finding = check(history);
        cell.tally.add(finding.verdict);
        add_notes(cell, stage.notes(), finding);
        keep(cell, number, std::move(history), std::move(finding));
        return;
      } catch (const Interrupted&) {
        throw;
      } catch (const std::exception& error) {
        trouble = error.what();
        if (const std::string dead = stage.site().who_died(); !dead.empty()) {
          trouble += " (" + dead + " is not running)";
        }
      }
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      trouble = std::string("the servers could not be started: ") + error.what();
    }
    if (stop_.stop_requested()) throw Interrupted();
    cell.tally.add(unknown_verdict());
    cell.troubles.push_back("run " + std::to_string(number) + ": " + trouble);
  }

  const TorturePlan& plan_;
  const std::stop_token stop_;
  const std::function<void(const TortureProgress&)>& progress_;
  Report report_;
  std::vector<const Profile*> engines_;
  TortureProgress where_;
  Scenario random_;
};

}  // namespace

void prepare_torture() { std::signal(SIGPIPE, SIG_IGN); }

Report run_torture(const TorturePlan& plan, std::stop_token stop,
                   const std::function<void(const TortureProgress&)>& progress) {
  return Series(plan, std::move(stop), progress).run();
}

}  // namespace holdfast::lab
