// RenewalRounds: renews holds at all nodes at once. A hold is renewed if a majority says that it is
// still its own, and counts from the majority-th newest question. Inside the loop only.
#pragma once

#include <memory>
#include <vector>

#include "engines/quorum/campaign.h"
#include "engines/quorum/voter.h"

namespace holdfast::internal::quorum {

class RenewalRounds {
 public:
  RenewalRounds(Runtime& runtime, Electorate& electorate, Campaign& campaign,
                const QuorumOptions& options)
      : runtime_(runtime),
        electorate_(electorate),
        campaign_(campaign),
        options_(options),
        background_(runtime) {}

  Task<std::vector<Result<Grant>>> renew(std::vector<Hold> holds, Deadline deadline);
  void stop() { background_.stop(); }

 private:
  struct Round;
  Task<void> renew_at(std::shared_ptr<Round> round, std::size_t node, Deadline deadline);

  Runtime& runtime_;
  Electorate& electorate_;
  Campaign& campaign_;
  QuorumOptions options_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::quorum
