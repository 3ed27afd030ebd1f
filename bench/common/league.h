// League: the same workloads for every entrant on one server, in turns, repetition by repetition, so
// that what disturbs one disturbs the others as well. Each workload becomes a comparison.
//
// A worker that does not know a line (it answers "what?") is not in that comparison; one that fails
// is left out from there on, and the report says why. Holdfast itself may not fail.
//
// Thread safety: none.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "bout.h"
#include "entrant.h"
#include "report.h"
#include "samples.h"
#include "worker.h"

namespace holdfast::bench {

struct LeaguePlan {
  int repetitions = 3;
  Seconds span{1};
  Seconds warm_up{3};  // of each worker before its first; JVMs compile what they run often
  int processes = 8;   // that contend
};

struct LeagueServer {
  std::string url;
  std::function<void()> flush = [] {};  // forget all locks, between entrants
  CountDuring commands_during = {};     // what clients sent; not there for all servers
  // For pairs on its CPU and on another. No processes: they are on that CPU anyway. The clients
  // stay where the process is allowed to run that makes the league.
  int cpu = 0;
  std::vector<pid_t> processes = {};
};

class League {
 public:
  League(LeaguePlan plan, LeagueServer server, std::vector<Entrant> entrants, Report& report);

  enum class Place {
    as_it_is,
    same_cpu,   // client and server share one: what the client costs
    other_cpu,  // each has one: what latency is
  };
  // Pairs of acquire and release by so many workers of one process, each on a name of its own.
  struct Pairs {
    std::string name;
    std::string what;
    std::string verb = "threads";  // or "flight" (worker.h); one works alone ("pairs")
    int workers = 1;
    std::vector<Target> targets = {};
    Place place = Place::as_it_is;
  };
  void pairs(const Pairs& pairs);
  // Changes of owner a second, and the gap from release called to the next acquire returned, among
  // processes that want one lock.
  struct Contest {
    std::string name;
    std::string what;
    int hold_us = 0;
    int pause_us = 0;
    std::vector<Target> gap_targets = {};
    std::vector<Target> owner_targets = {};
    std::vector<Target> command_targets = {};
  };
  void contest(const Contest& contest);
  // Readers and writers of one name, so many of a hundred of the latter.
  void mix(const std::string& name, const std::string& what, int write_percent, int hold_us,
           std::vector<Target> targets);

 private:
  struct Team {
    Entrant entrant;
    std::vector<Worker> workers;  // the first works alone, all contend
    std::size_t warm = 0;         // so many of them have been at work already
    std::string failure = {};
  };

  // Its workers, at least so many.
  std::vector<Worker>& workers_of(Team& team, int count);
  // How long so many of its workers should run before anything counts. They are warm then.
  Seconds warm_up(Team& team, int count) const;
  void give_up(Team& team, const std::string& why);
  // For a moment, until no worker is busy: a JVM goes on compiling when it has answered.
  void wait_for_quiet() const;
  template <class F>
  void each_repetition(const std::string& what, F play);
  Comparison comparison(const std::string& name, const std::string& what, const char* unit,
                        Target::Side better, std::vector<Target> targets) const;
  // To the report, without those who did not take part; nothing if nobody did.
  void add(Comparison comparison);

  LeaguePlan plan_;
  LeagueServer server_;
  std::vector<int> client_cpus_;
  std::list<Team> teams_;
  Report& report_;
};

}  // namespace holdfast::bench
