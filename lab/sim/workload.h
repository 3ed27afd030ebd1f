// Workload: schedules of one kind, what is expected of them, and what must have happened in a run.
//
// An expectation is a fact about the lock, not a wish: a Redis whose clock jumps grants the lock
// twice, and the run must show that it does; with a fence nothing may be harmed all the same, and
// the run must show that as well. Any other finding is a violation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lab/sim/mark.h"
#include "lab/sim/outcome.h"

namespace holdfast::lab::sim {

// Runs schedules one after the other, and counts what happened in them. One thread.
class Trial {
 public:
  virtual ~Trial() = default;
  virtual Outcome run(const Order& order) = 0;
  virtual Marks marks() const = 0;
};

// When a finding is no violation.
struct Expectation {
  Finding finding = Finding::overlap;
  std::vector<FaultSet> excuses;  // any of these sets of faults
  const char* when = "";          // the same for people
  bool must_occur = true;         // a run in which it never did has tested too little
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual const char* name() const = 0;
  virtual const char* summary() const = 0;
  virtual std::unique_ptr<Trial> start() const = 0;
  // Faults that can befall its schedules.
  virtual FaultSet faults() const = 0;

  const std::vector<Expectation>& expectations() const { return expectations_; }
  const Expectation* expectation_of(Finding finding) const;
  // Whether what the outcome has of it is explained by the faults that happened.
  bool expects(Finding finding, const Outcome& outcome) const;
  // The first finding that is not; in the order of the enumeration.
  const Finding* violation_in(const Outcome& outcome) const;

 protected:
  std::vector<Expectation> expectations_;
};

// All that are built in, in the order in which they are shown.
const std::vector<std::unique_ptr<Workload>>& workloads();
// Null if there is none of this name.
const Workload* find_workload(const std::string& name);

}  // namespace holdfast::lab::sim
