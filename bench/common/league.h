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
#include <optional>
#include <string>
#include <vector>

#include "entrant.h"
#include "pass.h"
#include "report.h"
#include "samples.h"
#include "worker.h"

namespace holdfast::bench {

struct LeaguePlan {
  int repetitions = 3;
  Seconds span{1};
  Seconds warm_up{3};  // of each worker before it counts; JVMs compile what they run often
  int processes = 8;   // that contend
};

struct LeagueServer {
  std::string url;
  std::function<void()> flush = [] {};  // forget all locks, between entrants
  // What clients sent to the server while this runs; not there for all servers.
  std::function<double(const std::function<void()>&)> commands_during = {};
};

class League {
 public:
  League(LeaguePlan plan, LeagueServer server, std::vector<Entrant> entrants, Report& report);

  // Pairs of acquire and release by so many workers of one process, each on a name of its own.
  // `verb` is "threads" or "flight" (worker.h); one worker works alone ("pairs").
  void pairs(const std::string& name, const std::string& what, const std::string& verb, int workers,
             std::vector<Claim> claims);
  // Changes of owner a second, and the gap from release called to the next acquire returned, among
  // processes that want one lock.
  struct Contest {
    std::string name;
    std::string what;
    int hold_us = 0;
    int pause_us = 0;
    std::vector<Claim> gap_claims = {};
    std::vector<Claim> owner_claims = {};
    std::vector<Claim> command_claims = {};
  };
  void contest(const Contest& contest);
  // Readers and writers of one name, so many of a hundred of the latter.
  void mix(const std::string& name, const std::string& what, int write_percent, int hold_us,
           std::vector<Claim> claims);

 private:
  struct Team {
    Entrant entrant;
    std::list<Worker> workers;  // the first works alone, all contend
    std::string failure = {};
  };
  struct Outcome {
    bool known = false;  // to the workers: what they were asked to do
    HandOffs hand_offs = {};
    std::optional<double> commands_each = {};
  };

  // Its workers, at least so many. Nothing if it is out.
  std::list<Worker>* workers_of(Team& team, int count);
  void give_up(Team& team, const std::string& why);
  template <class F>
  void each_repetition(const std::string& what, F play);
  Outcome play(std::list<Worker>& workers, const Contest& contest, Seconds warm_up, bool count);
  Comparison comparison(const std::string& name, const std::string& what, const char* unit,
                        Bar::Side better, std::vector<Claim> claims) const;

  LeaguePlan plan_;
  LeagueServer server_;
  std::list<Team> teams_;
  Report& report_;
};

}  // namespace holdfast::bench
