// LockView: reads locks and their queues, for list(), inspect(), evict() and watch(). Inside the loop only.
#pragma once

#include <string>
#include <vector>

#include "engines/etcd/cluster.h"
#include "engines/etcd/queue.h"

namespace holdfast::internal::etcd {

// One lock at one revision.
struct LockSnapshot {
  Name name;
  std::vector<Entry> entries;  // in the order of the queue
  std::size_t holders = 0;     // as many hold, from the front
  Revision seen_at = 0;

  // Zero if nobody holds.
  Token newest_token() const {
    return holders == 0 ? Token() : Token(static_cast<std::uint64_t>(entries[holders - 1].created));
  }
};

class LockView {
 public:
  LockView(Runtime& runtime, Cluster& cluster) : runtime_(runtime), cluster_(cluster) {}

  Task<Result<LockSnapshot>> read(const Name& name, Deadline deadline);
  Task<Result<std::vector<LockSnapshot>>> read_all(const std::string& prefix, Deadline deadline);
  // Asks etcd how long the holders' leases last.
  Task<Result<LockInfo>> describe(const LockSnapshot& lock, Deadline deadline);

 private:
  Task<std::optional<Duration>> time_left(LeaseId lease, Deadline deadline);

  Runtime& runtime_;
  Cluster& cluster_;
};

}  // namespace holdfast::internal::etcd
