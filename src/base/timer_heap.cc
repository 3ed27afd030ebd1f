#include "base/timer_heap.h"

namespace holdfast {

void TimerHeap::arm(Timer& timer, BootTime at) {
  if (timer.armed()) disarm(timer);
  timer.at_ = at;
  timer.order_ = next_order_++;
  heap_.push_back(&timer);
  timer.index_ = heap_.size() - 1;
  sift_up(timer.index_);
}

void TimerHeap::disarm(Timer& timer) {
  if (!timer.armed()) return;
  const std::size_t hole = timer.index_;
  timer.index_ = Timer::kIdle;
  Timer* last = heap_.back();
  heap_.pop_back();
  if (last == &timer) return;
  place(last, hole);
  sift_up(hole);
  sift_down(last->index_);
}

Timer* TimerHeap::pop_due(BootTime now) {
  if (heap_.empty() || heap_.front()->at_ > now) return nullptr;
  Timer* timer = heap_.front();
  disarm(*timer);
  return timer;
}

void TimerHeap::sift_up(std::size_t index) {
  Timer* moving = heap_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (!before(*moving, *heap_[parent])) break;
    place(heap_[parent], index);
    index = parent;
  }
  place(moving, index);
}

void TimerHeap::sift_down(std::size_t index) {
  Timer* moving = heap_[index];
  for (;;) {
    std::size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], *moving)) break;
    place(heap_[child], index);
    index = child;
  }
  place(moving, index);
}

}  // namespace holdfast
