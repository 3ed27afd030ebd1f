// RealRuntime: the Runtime on the operating system. A monitor with one driver.
//
// All core code of a client runs under one mutex, the monitor. A thread with a blocking call
// enters, runs its coroutine to the first wait, and, if it is not done and nobody else waits for
// events, becomes the driver: it waits in epoll and runs what becomes ready, its own result among
// it. When it is done it passes the role to another blocked caller or to the background thread.
// So a single caller pays no thread hop, and many callers share one connection.
//
//   caller ──enter──► run to first wait ──done──► leave
//                          │ not done
//                          ├─ no driver: drive (epoll, unlocked) until done ─► pass the role on
//                          └─ driver exists: sleep until done or until the role is passed to us
//
// driving.h has the states of that role and what can go wrong.
//
//   background thread: drives when no caller does and timers, descriptors or asynchronous calls
//                      are pending. After a blocking call it holds back for kLinger, so that a
//                      loop of blocking calls keeps the role to itself. Where several callers
//                      are blocked at the same time it takes the role and keeps it: callers then
//                      leave what they send to it, and it wakes them. A role that went from
//                      caller to caller would have each write and read for itself.
//
// Before it sleeps in epoll, the driver looks for answers that are due for a few microseconds
// (Lookout): a server close by answers faster than a thread is woken.
//
// Timers are on CLOCK_BOOTTIME (a timerfd): they are due when a suspended machine wakes up.
//
// When resources run out: the background thread is started before the first call begins, and if it
// cannot be, that call fails and nothing is held. An exception that handlers or timers throw ends
// the call of the driving caller, and comes out of it; the role goes to another thread. A
// callback of the user waits until a thread can be had for it.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/adaptive_spin.h"
#include "base/callback_thread.h"
#include "base/driving.h"
#include "base/fork_watch.h"
#include "base/random.h"
#include "base/reactor.h"
#include "base/require.h"
#include "base/resolver.h"
#include "base/root_coroutine.h"
#include "base/run_queue.h"
#include "base/thread_safety.h"
#include "base/timer_heap.h"
#include "holdfast/async.h"
#include "holdfast/runtime.h"

namespace holdfast::internal {

// Where an answer may come in at any moment.
class Lookout {
 public:
  // Whether one is due.
  virtual bool expecting() const = 0;
  // Takes what is there, without waiting. True if there was anything.
  virtual bool look() = 0;

 protected:
  ~Lookout() = default;
};

class RealRuntime final : public Runtime, public Loop {
 public:
  // Throws LockError (exhausted), naming the limit, if there is no descriptor left.
  RealRuntime();
  // REQUIRES: not inside the loop, not on a thread of ours, not in a forked child.
  ~RealRuntime() override;

  // Runtime
  BootTime now() const override { return BootClock::now(); }
  WallTime wall() const override;
  std::uint64_t random() override {
    require_inside();
    return random_.next();
  }
  void defer(Runnable& work) override {
    require_inside();
    ready_.push(work);
  }
  void drop(Runnable& work) override {
    require_inside();
    ready_.remove(work);
  }
  void post(Runnable& work) override;
  void withdraw(Runnable& work) override;
  void arm(Timer& timer, BootTime at) override;
  void disarm(Timer& timer) override {
    require_inside();
    timers_.disarm(timer);
  }
  void call_user(std::function<void()> callback) override;
  Reactor& reactor() {
    require_inside();
    return reactor_;
  }
  Resolver& resolver() { return resolver_; }

  // Loop
  bool inside() const override;
  void start(Task<void> task) override;
  void block_on(Task<void> task) override;
  void resume_inside(std::coroutine_handle<> awaiter) override;
  // As block_on(), for the last call of all: works where no thread can be had, and ignores failures.
  void finish_with(Task<void> task) noexcept;

  bool forked() const { return fork_watch_.forked(); }
  // True on the background and callback threads, which cannot destroy the runtime.
  bool on_own_thread() const;
  // Runs `work` on a thread of its own, for what none of our threads may do. If no thread can be
  // had, it never runs.
  static void run_elsewhere(std::function<void()> work) noexcept;

  // Takes the monitor for the life of the object. Leaving it passes the driver's role on if nobody
  // has it.
  class HOLDFAST_THREAD_SAFETY(scoped_lockable) Inside {
   public:
    explicit Inside(RealRuntime& runtime) HOLDFAST_LOCKS(runtime.monitor_);
    ~Inside() HOLDFAST_UNLOCKS();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    friend class RealRuntime;
    void release() HOLDFAST_UNLOCKS();  // Leaves the monitor for a while,
    void retake() HOLDFAST_LOCKS();     // and comes back.

    RealRuntime& runtime_;
    Loop* outer_;
    bool held_ = true;
  };

  void add_lookout(Lookout& lookout) {
    require_inside();
    lookouts_.push_back(&lookout);
  }
  void remove_lookout(Lookout& lookout) {
    require_inside();
    std::erase(lookouts_, &lookout);
  }

 private:
  // The driver's role, taken and given back, also by an exception.
  class Role {
   public:
    Role(RealRuntime& runtime, BlockedCaller* driver) HOLDFAST_NEEDS_LOCK(runtime.monitor_);
    ~Role() HOLDFAST_UNCHECKED_LOCKING;  // in the scope that made it
    Role(const Role&) = delete;
    Role& operator=(const Role&) = delete;

   private:
    RealRuntime& runtime_;
  };
  // Tries again to start a thread for the user's callbacks.
  class CallbackRetry final : public Runnable, public Timer {
   public:
    explicit CallbackRetry(RealRuntime& runtime) : runtime_(runtime) {}
    void run() override;
    void on_time() override;

   private:
    RealRuntime& runtime_;
  };
  RootCoroutine run_blocked(Task<void> task, BlockedCaller& blocked) HOLDFAST_NEEDS_LOCK(monitor_);
  RootCoroutine run_detached(Task<void> task) HOLDFAST_NEEDS_LOCK(monitor_);

  // "Inside the loop only": what the functions of Runtime require of their callers.
  void require_inside() const HOLDFAST_ASSERTS_LOCK(monitor_) { HOLDFAST_REQUIRE_DEBUG(inside()); }

  // Runs everything that is ready or due. True if there was anything.
  bool run_pending() HOLDFAST_NEEDS_LOCK(monitor_);
  void run_ready() HOLDFAST_NEEDS_LOCK(monitor_);
  bool run_posted() HOLDFAST_NEEDS_LOCK(monitor_);
  void refuse_after_fork() const;
  void block(Task<void> task) HOLDFAST_NEEDS_NO_LOCK(monitor_);
  // Forgets a call that will not be done.
  void abandon(BlockedCaller& blocked) HOLDFAST_NEEDS_LOCK(monitor_);
  // Waits for the next event outside the monitor. REQUIRES: we are the driver.
  void drive_once(Inside& inside) HOLDFAST_NEEDS_LOCK(monitor_);
  // False if it was not worth it, or nothing came in kLook.
  bool look_out(Inside& inside) HOLDFAST_NEEDS_LOCK(monitor_);
  bool expecting() const HOLDFAST_NEEDS_LOCK(monitor_);
  bool look() HOLDFAST_NEEDS_LOCK(monitor_);
  // The next three leave the monitor through a reference, which Clang cannot follow: unchecked.
  // Leaves the monitor for a moment, in which callers may leave to us what they send.
  void let_others_run(Inside& inside) HOLDFAST_NEEDS_LOCK(monitor_) HOLDFAST_UNCHECKED_LOCKING;
  void wait_outside(Inside& inside) HOLDFAST_NEEDS_LOCK(monitor_) HOLDFAST_UNCHECKED_LOCKING;
  void drive_until_done(BlockedCaller& me, Inside& inside) HOLDFAST_NEEDS_LOCK(monitor_);
  // Drives, or sleeps while another drives. If that one brought the result, the monitor is not
  // taken again.
  void wait_for_result(BlockedCaller& me, Inside& inside)
      HOLDFAST_NEEDS_LOCK(monitor_) HOLDFAST_UNCHECKED_LOCKING;
  // Brings the driver back from epoll.
  void kick_driver();
  // The role is free: gives it to a blocked caller, or lets the background thread know.
  void pass_role_on() HOLDFAST_NEEDS_LOCK(monitor_);
  // Throws LockError (exhausted) if it cannot be started.
  void require_background();
  void start_background();
  bool background_needed() const HOLDFAST_NEEDS_LOCK(monitor_);
  // At once, or when kLinger has passed: to wake it after each call would cost more than the call.
  void wake_background() { set_alarm(Duration(1)); }
  void set_alarm(Duration after);
  void background() HOLDFAST_NEEDS_NO_LOCK(monitor_);
  enum class Duty { drive, linger, rest };
  Duty duty() HOLDFAST_NEEDS_LOCK(monitor_);
  // Whether several callers are, or were a moment ago, blocked at the same time.
  bool crowded(BootTime moment) HOLDFAST_NEEDS_LOCK(monitor_);

  static constexpr Duration kLinger = std::chrono::milliseconds(1);
  static constexpr std::size_t kCrowd = 2;  // callers
  static constexpr Duration kLook = std::chrono::microseconds(60);
  // Before the background thread goes on after an exception, or a thread is tried again.
  static constexpr Duration kRetry = std::chrono::milliseconds(50);

  ForkWatch fork_watch_;
  mutable CheckedMutex monitor_;
  Reactor reactor_;  // guarded by monitor_, except wait() and kick()
  TimerHeap timers_ HOLDFAST_GUARDED_BY(monitor_);
  RunQueue ready_ HOLDFAST_GUARDED_BY(monitor_);
  Random random_ HOLDFAST_GUARDED_BY(monitor_);
  CallerList blocked_ HOLDFAST_GUARDED_BY(monitor_);
  // Unparked when the monitor is left.
  CallerList finished_ HOLDFAST_GUARDED_BY(monitor_);
  std::size_t detached_ HOLDFAST_GUARDED_BY(monitor_) = 0;
  std::vector<Lookout*> lookouts_ HOLDFAST_GUARDED_BY(monitor_);
  AdaptiveSpin spin_ HOLDFAST_GUARDED_BY(monitor_);
  Driving driving_ HOLDFAST_GUARDED_BY(monitor_);
  BootTime crowd_seen_ HOLDFAST_GUARDED_BY(monitor_){};
  bool stopping_ HOLDFAST_GUARDED_BY(monitor_) = false;
  BootTime last_call_ HOLDFAST_GUARDED_BY(monitor_){};  // Not min(): a difference to it overflows.
  // The background thread's alarm is not set: it looks at nothing unless woken.
  bool background_rests_ HOLDFAST_GUARDED_BY(monitor_) = true;

  CheckedMutex post_mutex_;
  RunQueue posted_ HOLDFAST_GUARDED_BY(post_mutex_);
  std::atomic<bool> has_posted_ = false;

  Descriptor alarm_;  // a timerfd: what the background thread waits for
  mutable CheckedMutex background_mutex_;
  std::thread background_thread_ HOLDFAST_GUARDED_BY(background_mutex_);
  std::atomic<bool> background_runs_ = false;

  Resolver resolver_;
  CallbackRetry callback_retry_;
  CallbackThread callbacks_;
};

}  // namespace holdfast::internal
