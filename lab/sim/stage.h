// Stage: the world of one schedule, whatever the lock stands on: its network, the faults that are drawn, the
// history that is kept, and the findings.
#pragma once

#include <array>
#include <string>

#include "lab/sim/mark.h"
#include "lab/sim/outcome.h"
#include "lab/sim/sim_network.h"

namespace holdfast::lab::sim {

// How often each kind of fault happened.
using FaultCounts = std::array<std::uint64_t, kFaultKinds>;
// Adds a mark for each kind in `kinds`.
void add_fault_marks(Marks& marks, const FaultSet& kinds, const FaultCounts& counts);

class Stage {
 public:
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void find(Finding finding, const std::string& what);
  // Adds a line to the history, if one is kept.
  void note(const std::string& what);
  bool keeps_history() const { return order_.keep_history; }

  // Draws of the clients, apart from those of the faults.
  double uniform() { return static_cast<double>(world.random().next() >> 11) * 0x1.0p-53; }
  bool happens(double probability) { return uniform() < probability; }
  Duration up_to(Duration longest) {
    return Duration(static_cast<Duration::rep>(static_cast<double>(longest.count()) * uniform()));
  }

  internal::SimWorld world;
  SimNetwork network;

 protected:
  Stage(const Order& order, NetworkMarks& network_marks, FaultCounts& counts)
      : world(order.seed),
        network(world, network_marks),
        decisions_(order.seed, order.selection ? *order.selection : all_),
        order_(order),
        counts_(counts) {}
  ~Stage() = default;

  // Whether a fault that is due is carried out.
  bool take(FaultKind kind);
  // The same for one of a kind that the schedule has, with a probability.
  bool strike(FaultKind kind, double probability) {
    return decisions_.happens(probability) && enabled_.has(kind) && take(kind);
  }
  // To be called between any two steps with whether two clients believe to hold the lock.
  void see_overlap(bool overlapping);
  Outcome finish();

  FaultSet enabled_;  // kinds of faults of this schedule
  Selection all_;
  Decisions decisions_;

 private:
  const Order& order_;
  FaultCounts& counts_;
  Outcome outcome_;
  bool overlapping_ = false;
};

}  // namespace holdfast::lab::sim
