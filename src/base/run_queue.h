// RunQueue: a queue of Runnables that allocates nothing. Not thread safe.
#pragma once

#include "holdfast/runtime.h"

namespace holdfast {

class RunQueue {
 public:
  bool empty() const { return head_ == nullptr; }

  // Queueing what is queued already changes nothing.
  void push(Runnable& work) {
    if (work.queued_) return;
    work.queued_ = true;
    work.next_ = nullptr;
    work.previous_ = tail_;
    (tail_ ? tail_->next_ : head_) = &work;
    tail_ = &work;
  }

  Runnable* pop() {
    Runnable* work = head_;
    if (work) remove(*work);
    return work;
  }

  void remove(Runnable& work) {
    if (!work.queued_) return;
    (work.previous_ ? work.previous_->next_ : head_) = work.next_;
    (work.next_ ? work.next_->previous_ : tail_) = work.previous_;
    work.previous_ = work.next_ = nullptr;
    work.queued_ = false;
  }

 private:
  Runnable* head_ = nullptr;
  Runnable* tail_ = nullptr;
};

}  // namespace holdfast
