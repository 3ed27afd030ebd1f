// Releases: ends holds and waits of this client's claims. Inside the loop only.
#pragma once

#include <string>

#include "engines/etcd/claims.h"

namespace holdfast::internal::etcd {

class Releases {
 public:
  // All must outlive it, and what is spawned.
  Releases(Cluster& cluster, Sessions& sessions, Claims& claims, TaskGroup& background)
      : cluster_(cluster), sessions_(sessions), claims_(claims), background_(background) {}

  // As Engine::release.
  Task<Result<bool>> release(Claim claim, Deadline deadline);
  // Removes a claim's key whatever its revision. `key` empty: it is somewhere among its lock's. True if it held.
  Task<Result<bool>> remove(Claim claim, std::string key, Deadline deadline);

 private:
  Task<Result<bool>> give_back(HeldKey held, bool only_ours, Deadline deadline);

  Cluster& cluster_;
  Sessions& sessions_;
  Claims& claims_;
  TaskGroup& background_;
};

// The claim's pair, if it is in the queue. `key` is where it is; empty: somewhere among its lock's.
Task<Result<std::optional<KeyValue>>> find_claim(Cluster& cluster, Claim claim, std::string key,
                                                 Deadline deadline);

}  // namespace holdfast::internal::etcd
