// One seeded schedule of the shipped lease and renewal on one server: three clients contend for one
// lock, while messages are delayed, lost and doubled, clients are paused, cut off, crash and come
// back, clocks run apart and jump, and the server suffers what its model says. Then everything
// heals, and every client must get in once more.
//
// Checked at every step:
//  - belief: two clients at once that are awake and whose lease says held()
//  - harm: an update of a register that was lost, without a fence and with two kinds of fence
//  - tokens: each once; higher than any that was granted before its claim asked
//  - leases: one that was lost never says held again; lost() comes before valid_until has passed,
//    unless the client was paused just then
//  - fairness: nobody overtakes who waits and is alive
//  - after healing: every client gets the lock within a bounded time
#pragma once

#include "lab/sim/stage.h"
#include "lab/sim/store_model.h"

namespace holdfast::lab::sim {

// How often the interesting things happened, over all schedules of a run.
struct StoreMarks {
  NetworkMarks network;
  std::uint64_t grants = 0;
  std::uint64_t renewals = 0;
  std::uint64_t failed_renewals = 0;
  std::uint64_t losses = 0;
  std::uint64_t unknowns = 0;
  std::uint64_t busy = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t pauses_while_held = 0;
  std::uint64_t hand_overs = 0;
  std::uint64_t refused_by_fence = 0;
  std::uint64_t lost_while_held = 0;  // the server lost what it had granted
  FaultCounts faults{};

  Marks list(const StoreModel& model) const;
  static FaultSet faults_of(const StoreModel& model) { return model.faults; }
};

Outcome run_store_schedule(const StoreModel& model, const Order& order, StoreMarks& marks);

}  // namespace holdfast::lab::sim
