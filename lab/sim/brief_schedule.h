// One short seeded schedule of the shipped quorum engine: two clients, three nodes, two rounds of
// acquire, read, write and release each, and a fault or two. Without locker and renewer: the grant's
// own validity is believed. It reaches the same states a hundred times faster than a long schedule,
// which takes a hundredth of a second, or not at all; see lab/sim/quorum_schedule.h for the rest.
#pragma once

#include "lab/sim/quorum_schedule.h"

namespace holdfast::lab::sim {

struct BriefMarks {
  NetworkMarks network;
  std::uint64_t grants = 0;
  std::uint64_t refusals = 0;
  std::uint64_t unknowns = 0;
  std::uint64_t low_tokens = 0;
  std::uint64_t busy_votes = 0;
  std::uint64_t pauses_beyond_ttl = 0;
  std::uint64_t refused_by_fence = 0;
  std::uint64_t hand_overs = 0;
  FaultCounts faults{};

  Marks list(const QuorumModel& model) const;
  static FaultSet faults_of(const QuorumModel& model);
};

Outcome run_brief_schedule(const QuorumModel& model, const Order& order, BriefMarks& marks);

}  // namespace holdfast::lab::sim
