#include "lab/torture/torture.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <exception>
#include <mutex>
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
  constexpr std::size_t kMaxNotes = 6;
  for (const std::string& text : notes) {
    if (cell.notes.size() < kMaxNotes) cell.notes.push_back(text);
  }
  for (const std::string& trouble : finding.token_troubles) {
    if (cell.notes.size() < kMaxNotes) cell.notes.push_back("tokens: " + trouble);
  }
  if (!finding.overtakings.empty() && cell.notes.size() < kMaxNotes) {
    cell.notes.push_back(std::to_string(finding.overtakings.size()) + " of " +
                         std::to_string(finding.grants) +
                         " grants overtook somebody who had asked "
                         "50 ms earlier");
  }
}

// The runs of a plan. Several threads take the next one each until there is none.
class Series {
 public:
  Series(const TorturePlan& plan, std::stop_token stop,
         const std::function<void(const TortureProgress&)>& progress)
      : plan_(plan), stop_(std::move(stop)), progress_(progress) {}

  Report run() {
    report_.title = plan_.random  ? "Holdfast torture: random faults"
                    : plan_.pairs ? "Holdfast torture: two faults at a time"
                                  : "Holdfast torture";
    report_.made_at = now_text();
    report_.machine = machine_text();
    report_.pairs = plan_.pairs;
    choose_engines();
    random_ = random_scenario(plan_.seed, plan_.duration);
    lay_out(plan_.random ? std::vector<const Scenario*>{&random_} : plan_.scenarios);
    {
      std::vector<std::jthread> others;
      for (unsigned i = 1; i < plan_.jobs; ++i) others.emplace_back([this] { work(); });
      work();
    }
    return std::move(report_);
  }

 private:
  struct Run {
    const Scenario* scenario;
    const Profile* profile;
    unsigned number;  // of its cell, from 1
  };

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
        for (unsigned run = 1; run <= plan_.repeat; ++run)
          runs_.push_back({scenario, profile, run});
      }
      if (anywhere) report_.rows.push_back(scenario->row);
    }
    where_.runs = runs_.size();
  }

  const Run* next() {
    const std::lock_guard lock(mutex_);
    if (report_.partial || where_.run == runs_.size()) return nullptr;
    const Run& run = runs_[where_.run++];
    where_.scenario = run.scenario->row.id;
    where_.engine = run.profile->name;
    progress_(where_);
    return &run;
  }

  void work() {
    try {
      while (const Run* run = next()) {
        if (plan_.random) {
          const auto seed = plan_.seed + run->number - 1;
          run_once(random_scenario(seed, plan_.duration), *run->profile, run->number);
        } else {
          run_once(*run->scenario, *run->profile, run->number);
        }
      }
    } catch (const Interrupted&) {
      const std::lock_guard lock(mutex_);
      report_.partial = true;
    }
  }

  void run_once(const Scenario& scenario, const Profile& profile, unsigned number) {
    std::string trouble;
    try {
      Stage stage(profile, scenario.site, stop_);
      try {
        scenario.play(stage);
        stage.finish();
        History history = stage.history();
        Diagnosis finding = check(history);
        const std::lock_guard lock(mutex_);
        Cell& cell = report_.at(scenario.row.id, profile.name);
        cell.tally.add(finding.verdict);
        add_notes(cell, stage.notes(), finding);
        const bool differs = !cell.differences().empty();
        if (differs) where_.as_expected = false;
        if (differs || !plan_.pairs) keep(cell, number, std::move(history), std::move(finding));
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
    const std::lock_guard lock(mutex_);
    Cell& cell = report_.at(scenario.row.id, profile.name);
    cell.tally.add(unknown_verdict());
    cell.troubles.push_back("run " + std::to_string(number) + ": " + trouble);
  }

  const TorturePlan& plan_;
  const std::stop_token stop_;
  const std::function<void(const TortureProgress&)>& progress_;
  std::vector<const Profile*> engines_;
  Scenario random_;
  std::vector<Run> runs_;
  std::mutex mutex_;  // of all below, once threads run
  Report report_;
  TortureProgress where_;
};

}  // namespace

void prepare_torture() { std::signal(SIGPIPE, SIG_IGN); }

Report run_torture(const TorturePlan& plan, std::stop_token stop,
                   const std::function<void(const TortureProgress&)>& progress) {
  return Series(plan, std::move(stop), progress).run();
}

}  // namespace holdfast::lab
