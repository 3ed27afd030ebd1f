// DeadlockWatch: owners that wait for each other, across all engines, found again after each round of looks. What is
// told was so in two rounds, of which the second began after the first had ended: hands that change are no deadlock.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "holdfast/deadlock.h"
#include "session.h"

namespace holdfast::cli {

class DeadlockWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // The findings of a look at one engine, and when it was begun. Only locks that are waited for matter.
  void saw(const std::string& engine, const std::vector<LockInfo>& locks, Fairness fairness,
           Clock::time_point begun);
  // It did not answer: what was seen of it is not known any more.
  void lost_sight(const std::string& engine);

  // True if a round is complete, and something has changed since the last one.
  bool update();
  const std::vector<Deadlock>& found() const { return found_; }
  Json json() const;

 private:
  struct Seen {
    EngineLocks locks;
    Clock::time_point begun;
  };
  std::map<std::string, Seen> latest_;
  std::vector<EngineLocks> before_;
  Clock::time_point before_ended_{};
  std::vector<Deadlock> found_;
};

}  // namespace holdfast::cli
