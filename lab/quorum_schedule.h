// One seeded schedule of the shipped quorum engine: three clients contend for one lock on three or
// five simulated nodes, while connections are slow and break, clients and nodes are paused, crash
// and come back, nodes lose their data, and clocks run apart or jump. Then everything heals.
//
// What is checked, at every step:
//  - without jumps of the nodes' clocks, and if nodes that rejoin are silent before: never two
//    clients that are awake and whose leases exclude each other, both held; and while one is held,
//    a majority has its word (unless data was lost)
//  - always: what QuorumChecker says of tokens, votes and the fenced register
//  - always: a lease that was lost never comes back, and lost() comes in time
//  - when all has been well for a while: every client gets the lock within a bounded time; what is
//    released leaves no word and no place in a line behind
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/quorum_checker.h"

namespace holdfast::lab {

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
  std::uint64_t client_pauses = 0;
  std::uint64_t pauses_while_held = 0;
  std::uint64_t node_pauses = 0;
  std::uint64_t crashes = 0;
  std::uint64_t cuts = 0;
  std::uint64_t restarts = 0;
  std::uint64_t wipes = 0;
  std::uint64_t rejoins = 0;
  std::uint64_t node_jumps = 0;
  std::uint64_t client_jumps = 0;
};

struct QuorumVerdict {
  std::uint64_t seed = 0;
  std::vector<std::string> violations;  // empty: none
  std::vector<std::string> history;     // what happened, for people; kept only if wanted
};

QuorumVerdict run_quorum_schedule(std::uint64_t seed, QuorumMarks& marks, bool keep_history);

}  // namespace holdfast::lab
