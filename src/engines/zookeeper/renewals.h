// Renewals: proves for many holds at once that they are still there. One transaction for each
// session checks the nodes of all its claims: its answer is a majority's, which is what the
// session's proof needs, and says of each node that it is there and that nobody wrote into it.
// Inside the loop only.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engines/zookeeper/claims.h"
#include "engines/zookeeper/lock_nodes.h"

namespace holdfast::internal::zookeeper {

class Renewals {
 public:
  // Called for a claim that was renewed, and for one that is not held any more.
  struct Reaction {
    std::function<void(ClaimState&, const Grant&)> renewed;
    std::function<void(ClaimState&, bool node_is_there)> lost;
  };

  Renewals(Runtime& runtime, LockNodes& nodes, Reaction reaction)
      : runtime_(runtime), nodes_(nodes), reaction_(std::move(reaction)) {}

  struct Item {
    Claims::State state;
    Result<Grant>* outcome;
  };
  Task<void> renew(std::vector<Item> items, Deadline deadline);

  static Failure not_held(const Name& name);

 private:
  using Part = std::vector<Item>;
  // REQUIRES: all of one session.
  Task<void> renew_part(Part part, Deadline deadline);

  Runtime& runtime_;
  LockNodes& nodes_;
  const Reaction reaction_;
};

}  // namespace holdfast::internal::zookeeper
