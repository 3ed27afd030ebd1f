// Watchdog: tells wards that their time is over, on threads that do nothing else.
//
// It shares nothing with what keeps a ward alive: not the monitor, not the engine, not the callbacks of
// another ward. A stalled disk, a busy loop or a callback that blocks for an hour delays no other ward.
//
//   watch() ─► heap of ends ─► watchdog thread: looks when an end comes ─┬─ it moved on: looks again then
//                                                                       └─ it has come: latched
//                                                                             │ somebody wants to hear of it
//                                                                             ▼
//                                                     queue ─► workers: run_callbacks(), user code
//
// The watchdog thread itself runs no user code. Workers are started when something is in the queue, twice as
// many each millisecond while that does not empty it, and end when it is empty: callbacks that all block get
// a thread each. Where the process may start no thread at all, the watchdog thread runs callbacks itself,
// one after the other.
//
// Thread safety: all of it. In a forked child every call does nothing.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "base/fork_watch.h"
#include "holdfast/result.h"
#include "holdfast/runtime.h"

namespace holdfast::internal {

class Watchdog {
 public:
  // Something that ends. Owned by a shared_ptr; its destructor calls forget().
  class Ward {
   public:
    Ward() : alarm_(*this) {}
    Ward(const Ward&) = delete;
    Ward& operator=(const Ward&) = delete;

    // Called with the watchdog's mutex held, so they must not block or call the watchdog.
    // Latches the end if it has come, and returns nothing; else the moment to look again.
    virtual std::optional<BootTime> look(BootTime now) noexcept = 0;
    // After the end was latched. True if run_callbacks() has something to do.
    virtual bool wants_callbacks() noexcept = 0;
    // Null if the last owner is letting go of it.
    virtual std::shared_ptr<Ward> share() noexcept = 0;

    // Called once, on a thread that may block.
    virtual void run_callbacks() noexcept = 0;

   protected:
    virtual ~Ward() = default;

   private:
    friend class Watchdog;
    class Alarm final : public Timer {
     public:
      explicit Alarm(Ward& the_ward) : ward(the_ward) {}
      void on_time() override {}
      Ward& ward;
    };

    Alarm alarm_;
    std::shared_ptr<Ward> next_;  // in the queue
  };

  Watchdog();
  // Callbacks that run meanwhile go on; queued ones still run.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Starts the thread, unless it runs. `exhausted` if the process may not start one.
  Result<void> start();

  // Looks at `ward` at `moment`. REQUIRES: start() succeeded.
  void watch(Ward& ward, BootTime moment);
  void forget(Ward& ward);
  // Its end is known already: runs its callbacks now.
  void expire(Ward& ward);

 private:
  struct State;
  std::shared_ptr<State> state_;
  ForkWatch fork_watch_;
  std::atomic<bool> started_ = false;
  std::thread thread_;
};

}  // namespace holdfast::internal
