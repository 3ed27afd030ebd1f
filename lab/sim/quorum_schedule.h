// One seeded schedule of the shipped quorum engine: three clients contend for one lock on three or
// five simulated nodes, while connections are slow and break, clients and nodes are paused, crash
// and come back, nodes lose their data or come back with older ones, one or all at once, and clocks
// run apart or jump. Then everything heals.
//
// Checked at every step:
//  - two clients that are awake and whose leases exclude each other, both held
//  - without jumps of the nodes' clocks, and if nodes that rejoin are silent before: while a lease
//    is held, a majority has its word (unless data was lost)
//  - always: what QuorumChecker says of tokens, votes and the fenced register
//  - always: a lease that was lost never comes back, and lost() comes in time
//  - when all has been well for a while: every client gets the lock within a bounded time; what is
//    released leaves no word and no place in a line behind
#pragma once

#include <cstdint>

#include "lab/sim/quorum_checker.h"
#include "lab/sim/stage.h"

namespace holdfast::lab::sim {

struct QuorumModel {
  NodeRules rules;
};

// How often the interesting things happened, over all schedules of a run.
struct QuorumMarks {
  NetworkMarks network;
  VoterMarks voters;
  CheckerMarks checker;
  std::uint64_t leases = 0;
  std::uint64_t shared_leases = 0;
  std::uint64_t renewals = 0;
  std::uint64_t failed_renewals = 0;
  std::uint64_t losses = 0;
  std::uint64_t unknowns = 0;
  std::uint64_t busy = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t reservations = 0;
  std::uint64_t reservations_used = 0;
  std::uint64_t dead_waiters = 0;
  std::uint64_t low_tokens = 0;
  std::uint64_t pauses_while_held = 0;
  std::uint64_t rack_restarts = 0;  // of all nodes at once
  std::uint64_t rejoins = 0;
  std::uint64_t refoundings = 0;
  FaultCounts faults{};

  Marks list(const QuorumModel& model) const;
  static FaultSet faults_of(const QuorumModel& model);
};

Outcome run_quorum_schedule(const QuorumModel& model, const Order& order, QuorumMarks& marks);

}  // namespace holdfast::lab::sim
