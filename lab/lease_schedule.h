// One seeded schedule of the lease and its renewal: three clients of the shipped code contend for
// one lock on a simulated server, while messages are delayed, lost and doubled, clients are
// paused, crash and come back, and clocks run apart as far as a lease allows for. Then everything
// heals, and every client must get in once more.
//
// What is checked, at every step:
//  - belief: never two clients at once that are awake and whose lease says held()
//  - a lease that once said it is not held never says held again
//  - lost() comes before valid_until has passed, unless the client was paused just then
//  - tokens grow in the order in which the holders were granted
//  - a client that awakes after its lease's end sees held() == false before anything else
//  - after healing, every client gets the lock within a bounded time
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/sim_network.h"

namespace holdfast::lab {

// How often the interesting things happened, over all schedules of a run.
struct LeaseMarks {
  NetworkMarks network;
  std::uint64_t grants = 0;
  std::uint64_t renewals = 0;
  std::uint64_t failed_renewals = 0;
  std::uint64_t losses = 0;
  std::uint64_t unknowns = 0;
  std::uint64_t busy = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t pauses = 0;
  std::uint64_t pauses_while_held = 0;
  std::uint64_t crashes = 0;
  std::uint64_t cuts = 0;
  std::uint64_t hand_overs = 0;
};

struct LeaseVerdict {
  std::uint64_t seed = 0;
  std::vector<std::string> violations;  // empty: none
  std::vector<std::string> history;     // what happened, for people; kept only if wanted
};

LeaseVerdict run_lease_schedule(std::uint64_t seed, LeaseMarks& marks, bool keep_history);

}  // namespace holdfast::lab
