// LocalQueue: this client's claims in the queues that a server keeps, per lock, in the server's order. The
// server grants none of them before the ones of the same client in front of it, so only the first few need to
// watch their predecessors. The others rest until they are among those few, and then need to learn their
// predecessor; one read of the queue tells it for all of them. Inside the loop only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "holdfast/runtime.h"

namespace holdfast::internal {

// `Before` is what an engine knows about a claim's predecessor.
template <class Before>
class LocalQueue {
 public:
  class Entry;

  // Claims at the front that watch their predecessors. Enough that a new watch is live before its claim is
  // next, also where the server brings new watches up to date late (etcd: up to 100 ms).
  static constexpr std::ptrdiff_t kFront = 64;

  // Whether a new claim would be behind the front.
  bool long_enough(const std::string& lock) const {
    const auto found = queues_.find(lock);
    return found != queues_.end() && std::ssize(found->second) >= kFront;
  }

  // Visits the claims of a lock that do not know their predecessor yet.
  template <class F>
  void for_each_unsure(const std::string& lock, F visit) {
    const auto found = queues_.find(lock);
    if (found == queues_.end()) return;
    for (const auto& [order, entry] : found->second) {
      if (!entry->before) visit(*entry);
    }
  }

 private:
  // Two attempts of one claim can have the same place in the server's queue.
  using Queue = std::set<std::pair<std::uint64_t, Entry*>>;  // never empty
  std::unordered_map<std::string, Queue> queues_;
};

// Lives from when a claim is in the server's queue until it holds the lock or leaves.
template <class Before>
class LocalQueue<Before>::Entry {
 public:
  // `name`: the claim's name on the server; `order`: its position in the server's order. `told` is set when the
  // entry reaches the front.
  Entry(LocalQueue& queue, std::string lock, std::string name, std::uint64_t order, Event& told)
      : queue_(queue), lock_(std::move(lock)), name_(std::move(name)), order_(order), told_(&told) {
    queue_.queues_[lock_].emplace(order_, this);
  }
  ~Entry() {
    const auto found = queue_.queues_.find(lock_);
    found->second.erase({order_, this});
    if (found->second.empty()) {
      queue_.queues_.erase(found);
      return;
    }
    if (std::ssize(found->second) < kFront) return;
    // Our departure may have moved this one to the front.
    Event* const told = std::next(found->second.begin(), kFront - 1)->second->told_;
    if (told) told->set();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  bool near_front() const {
    const Queue& queue = queue_.queues_.at(lock_);
    const auto end = std::next(queue.begin(), std::min<std::ptrdiff_t>(kFront, std::ssize(queue)));
    return std::any_of(queue.begin(), end, [&](const auto& one) { return one.second == this; });
  }
  bool first() const { return queue_.queues_.at(lock_).begin()->second == this; }
  const std::string& name() const { return name_; }
  std::uint64_t order() const { return order_; }
  // The entry stays in the queue for a while, but nobody is left to notify.
  void leave_behind() { told_ = nullptr; }

  std::optional<Before> before;

 private:
  LocalQueue& queue_;
  const std::string lock_;
  const std::string name_;
  const std::uint64_t order_;
  Event* told_;
};

}  // namespace holdfast::internal
