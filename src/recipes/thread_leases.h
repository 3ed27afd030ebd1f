// ThreadLeases: the leases behind lock() and unlock(), one per thread. Thread safe. In a forked child
// there are none, and the mutex is not touched: one of the parent's threads may have locked it.
#pragma once

#include <map>
#include <mutex>
#include <thread>

#include "base/fork_watch.h"
#include "holdfast/lease.h"

namespace holdfast::internal {

class ThreadLeases {
 public:
  bool has_mine() const { return find() != nullptr; }

  void put(Lease lease) {
    const std::lock_guard lock(mutex_);
    leases_[std::this_thread::get_id()] = std::move(lease);
  }

  // This thread's lease, taken out; empty if there is none.
  Lease take() {
    if (fork_watch_.forked()) return {};
    const std::lock_guard lock(mutex_);
    auto node = leases_.extract(std::this_thread::get_id());
    return node ? std::move(node.mapped()) : Lease();
  }

  // Stays valid while this thread does not call take(): map nodes do not move.
  const Lease* find() const {
    if (fork_watch_.forked()) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(std::this_thread::get_id());
    return found == leases_.end() ? nullptr : &found->second;
  }

 private:
  ForkWatch fork_watch_;
  mutable std::mutex mutex_;
  std::map<std::thread::id, Lease> leases_;
};

}  // namespace holdfast::internal
