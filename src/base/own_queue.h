// OwnQueue: the claims of this client that wait in queues which a server keeps, per lock, in the
// order of the server's queue. Nobody there gets a lock before the claims of its own client that came
// before it. So only the first few of them have to know what happens in front of them; the others
// rest until they are among those few, and then need to know who is just before them. One look at
// the queue tells that for all of them. Inside the loop only.
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

// `Before` is what an engine knows of the one just before a claim.
template <class Before>
class OwnQueue {
 public:
  class Place;

  // So many look. Early enough to know what is before them by the time that it matters, also on a
  // server that brings a new watch up to date late (etcd: up to 100 ms).
  static constexpr std::ptrdiff_t kFront = 64;

  // Whether one that comes now will have to rest.
  bool long_enough(const std::string& lock) const {
    const auto line = lines_.find(lock);
    return line != lines_.end() && std::ssize(line->second) >= kFront;
  }

  // Those of a lock who do not know yet who is just before them.
  template <class F>
  void for_each_unsure(const std::string& lock, F visit) {
    const auto line = lines_.find(lock);
    if (line == lines_.end()) return;
    for (const auto& [order, place] : line->second) {
      if (!place->before) visit(*place);
    }
  }

 private:
  // Two attempts of one claim can have the same place in the server's queue.
  using Line = std::set<std::pair<std::uint64_t, Place*>>;  // never empty
  std::unordered_map<std::string, Line> lines_;
};

// From when a claim is in the server's queue until it holds, or leaves.
template <class Before>
class OwnQueue<Before>::Place {
 public:
  // `name`: what the server knows the claim by; `order`: a number by which it has them in order.
  // `told` is set when the place comes near the front.
  Place(OwnQueue& queue, std::string lock, std::string name, std::uint64_t order, Event& told)
      : queue_(queue), lock_(std::move(lock)), name_(std::move(name)), order_(order), told_(&told) {
    queue_.lines_[lock_].emplace(order_, this);
  }
  ~Place() {
    const auto line = queue_.lines_.find(lock_);
    line->second.erase({order_, this});
    if (line->second.empty()) {
      queue_.lines_.erase(line);
      return;
    }
    if (std::ssize(line->second) < kFront) return;
    // Whoever stands there now may have come by our leaving.
    Event* const told = std::next(line->second.begin(), kFront - 1)->second->told_;
    if (told) told->set();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  bool near_front() const {
    const Line& line = queue_.lines_.at(lock_);
    const auto end = std::next(line.begin(), std::min<std::ptrdiff_t>(kFront, std::ssize(line)));
    return std::any_of(line.begin(), end, [&](const auto& one) { return one.second == this; });
  }
  bool first() const { return queue_.lines_.at(lock_).begin()->second == this; }
  const std::string& name() const { return name_; }
  std::uint64_t order() const { return order_; }
  // It stays in the line for a while, but nobody is there any more to be told.
  void leave_behind() { told_ = nullptr; }

  std::optional<Before> before;

 private:
  OwnQueue& queue_;
  const std::string lock_;
  const std::string name_;
  const std::uint64_t order_;
  Event* told_;
};

}  // namespace holdfast::internal
