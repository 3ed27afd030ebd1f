// What list() and inspect() tell. Inside the loop only.
#pragma once

#include <string>
#include <vector>

#include "engines/etcd/cluster.h"
#include "engines/etcd/queue.h"

namespace holdfast::internal::etcd {

// One lock at one revision.
struct LockSight {
  Name name;
  std::vector<Entry> entries;  // in the order of the queue
  std::size_t holders = 0;     // the first so many hold
  Revision seen_at = 0;
};

class LockView {
 public:
  LockView(Runtime& runtime, Cluster& cluster, std::string prefix)
      : runtime_(runtime), cluster_(cluster), prefix_(std::move(prefix)) {}

  Task<Result<LockSight>> look(const Name& name, Deadline deadline);
  Task<Result<std::vector<LockSight>>> look_at_all(const std::string& prefix, Deadline deadline);
  // Asks etcd how long the holders' leases last.
  Task<Result<LockInfo>> describe(const LockSight& sight, Deadline deadline);

 private:
  Task<Result<RangeAnswer>> range(Range range, Header& header, Deadline deadline);
  Task<std::optional<Duration>> time_left(LeaseId lease, Deadline deadline);

  Runtime& runtime_;
  Cluster& cluster_;
  const std::string prefix_;
};

}  // namespace holdfast::internal::etcd
