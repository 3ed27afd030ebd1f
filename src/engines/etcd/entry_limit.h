// EntryLimit: lets at most 32 claims enter queues at a time, in the order in which they came. A thousand requests at
// once would all wait for the last answer, and a busy server would look dead. It also lets the first of many claims
// of one lock be in the local queue before the others decide what to read. Inside the loop only.
#pragma once

#include <list>

#include "holdfast/runtime.h"

namespace holdfast::internal::etcd {

class EntryLimit {
 public:
  explicit EntryLimit(Runtime& runtime) : runtime_(runtime) {}

  // Lives as long as a claim waits to enter, and while it does.
  class Permit {
   public:
    explicit Permit(EntryLimit& limit) : admitted(limit.runtime_), limit_(limit) {
      limit_.waiting_.push_back(this);
      limit_.admit();
    }
    ~Permit() {
      if (admitted.is_set()) {
        --limit_.entering_;
      } else {
        limit_.waiting_.remove(this);
      }
      limit_.admit();
    }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

    Event admitted;

   private:
    EntryLimit& limit_;
  };

 private:
  void admit() {
    for (; entering_ < kMaxEntering && !waiting_.empty(); waiting_.pop_front()) {
      ++entering_;
      waiting_.front()->admitted.set();
    }
  }

  static constexpr int kMaxEntering = 32;
  Runtime& runtime_;
  int entering_ = 0;
  std::list<Permit*> waiting_;
};

}  // namespace holdfast::internal::etcd
