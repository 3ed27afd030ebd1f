// Common: what all the claims of a client have in common. Inside the loop only.
#pragma once

#include <string>
#include <unordered_map>

#include "engines/etcd/holdings.h"
#include "engines/etcd/settings.h"
#include "engines/etcd/watcher.h"

namespace holdfast::internal::etcd {

class Turn;

struct Common {
  Common(Runtime& runtime, const Settings& settings);

  Runtime& runtime;
  const Settings settings;
  Cluster cluster;
  Sessions sessions;
  Watcher watcher;
  Holdings holdings;
  std::unordered_map<ClaimId, Turn*> waiting;
  TaskGroup background;  // Last: its tasks end before what they use.

  Deadline request_deadline(Deadline deadline) const;
  Failure makes_no_sense() const;
  Failure cancelled() const { return Failure(Code::cancelled, "cancelled by the caller"); }
  // Ends the hold, or the wait, of a claim. `token` is 0 if it is not known.
  Task<Result<bool>> remove(Claim claim, Revision token, Deadline deadline);
  // Tells who watches our key that we hold: see InTheWay::last.
  Task<void> mark(std::string key, Revision token, std::string note);
};

}  // namespace holdfast::internal::etcd
