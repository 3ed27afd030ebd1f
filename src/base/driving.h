// Driving: who has the driver's role in a RealRuntime, and where that thread is. Under the monitor only.
//
//   ┌──────┐ ──take()──────► ┌─────────┐ ──look()───► ┌─────────┐
//   │ free │                 │ running │ ◄──come_back() │ looking │
//   └──────┘ ◄──give_back()─ └─────────┘              └─────────┘
//                              wait() │  ▲ return()
//                                     ▼  │
//                                  ┌─────────┐
//                                  │ waiting │
//                                  └─────────┘
//
// | state   | the driver is                              | a thread that enters                              |
// | free    | nobody                                     | takes the role if it blocks, or else offers it    |
// | running | inside the monitor                         | is the driver                                     |
// | looking | outside for a moment, and comes back alone | leaves to the driver what is ready                |
// | waiting | in epoll                                   | runs what is ready; kicks if the driver must come |
//
// Each transition requires the state that it leaves: a mistake ends the process instead of stranding a caller.
//
// Hazards, and what prevents each:
//   - Work is left to a driver that goes to sleep: that is done in `looking` only, and the driver looks at all
//     queues under the monitor before it waits.
//   - The driver's own call is finished by another thread: that one kicks a driver that is not running.
//   - Two threads drive: take() requires that the role is free.
//   - An exception passes through the driver: Role gives the role back.
//   - The role is offered to a caller whose call ends at that moment: an offer is no state. The first thread that enters
//     takes the role, and each thread that leaves while it is free offers it again.
//   - fork(): calls in the child are refused before the state is looked at.
//   - The runtime is destroyed by its own thread: that is the client's to prevent (on_own_thread()).
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "base/parker.h"
#include "base/require.h"

namespace holdfast::internal {

// A thread with a blocking call.
struct BlockedCaller {
  static constexpr std::uint32_t kDrive = 1;  // unparked to take the driver's role
  static constexpr std::uint32_t kDone = 2;   // all is done: leave, and touch nothing
  Parker parker;
  std::coroutine_handle<> root;  // its call, until that is done
  std::exception_ptr error;
  bool done = false;
  bool listed = false;
  BlockedCaller* previous = nullptr;
  BlockedCaller* next = nullptr;
};

// Intrusive: to have a result must not fail for want of memory.
class CallerList {
 public:
  bool empty() const { return last_ == nullptr; }
  std::size_t size() const { return size_; }
  BlockedCaller* first() const { return first_; }
  BlockedCaller* last() const { return last_; }

  // REQUIRES: the caller is in no list.
  void push(BlockedCaller& caller) {
    caller.listed = true;
    caller.next = nullptr;
    caller.previous = last_;
    (last_ ? last_->next : first_) = &caller;
    last_ = &caller;
    ++size_;
  }
  // REQUIRES: the caller is in this list or in none.
  void remove(BlockedCaller& caller) {
    if (!caller.listed) return;
    caller.listed = false;
    (caller.previous ? caller.previous->next : first_) = caller.next;
    (caller.next ? caller.next->previous : last_) = caller.previous;
    --size_;
  }

 private:
  BlockedCaller* first_ = nullptr;
  BlockedCaller* last_ = nullptr;
  std::size_t size_ = 0;
};

class Driving {
 public:
  enum class State { free, running, looking, waiting };

  State state() const { return state_; }
  bool free() const { return state_ == State::free; }
  bool by(const BlockedCaller& caller) const { return driver_ == &caller; }
  bool by_background() const { return !free() && driver_ == nullptr; }

  // Null stands for the background thread.
  void take(BlockedCaller* driver) {
    go(State::free, State::running);
    driver_ = driver;
  }
  void look() { go(State::running, State::looking); }
  void wait() { go(State::running, State::waiting); }
  void come_back() {
    HOLDFAST_REQUIRE(state_ == State::looking || state_ == State::waiting);
    state_ = State::running;
  }
  void give_back() {
    go(State::running, State::free);
    driver_ = nullptr;
  }

 private:
  void go(State from, State to) {
    HOLDFAST_REQUIRE(state_ == from);
    state_ = to;
  }

  State state_ = State::free;
  BlockedCaller* driver_ = nullptr;
};

}  // namespace holdfast::internal
