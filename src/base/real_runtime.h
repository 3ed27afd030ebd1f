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
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/callback_thread.h"
#include "base/eagerness.h"
#include "base/fork_watch.h"
#include "base/gate.h"
#include "base/random.h"
#include "base/run_queue.h"
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
  RealRuntime();
  // REQUIRES: not inside the loop, not on a thread of ours, not in a forked child.
  ~RealRuntime() override;

  // Runtime
  BootTime now() const override { return BootClock::now(); }
  WallTime wall() const override;
  std::uint64_t random() override { return random_.next(); }
  void defer(Runnable& work) override { ready_.push(work); }
  void drop(Runnable& work) override { ready_.remove(work); }
  void post(Runnable& work) override;
  void withdraw(Runnable& work) override;
  void arm(Timer& timer, BootTime at) override;
  void disarm(Timer& timer) override { timers_.disarm(timer); }
  void call_user(std::function<void()> callback) override;
  void call_user_soon(std::function<void()> callback) override;
  asio::io_context* io() override { return &io_; }

  // Loop
  bool inside() const override;
  void start(Task<void> task) override;
  void block_on(Task<void> task) override;
  void resume_inside(std::coroutine_handle<> awaiter) override;
  static Loop* current_loop();

  bool forked() const { return fork_watch_.forked(); }
  // True on the background and callback threads, which cannot destroy the runtime.
  bool on_own_thread() const;
  // Runs `work` on a thread of its own, for what none of our threads may do.
  static void run_elsewhere(std::function<void()> work);

  // Takes the monitor for the life of the object; for completion handlers of io(). Who leaves it
  // passes the driver's role on if nobody has it.
  class Inside {
   public:
    explicit Inside(RealRuntime& runtime);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    friend class RealRuntime;
    void release();  // Leaves the monitor for a while,
    void retake();   // and comes back.

    RealRuntime& runtime_;
    std::unique_lock<std::mutex> lock_;
    RealRuntime* outer_;
  };

  // Descriptors that are being watched: while there are any, somebody must drive.
  void add_watch() { ++watches_; }
  void remove_watch() { --watches_; }

  void add_lookout(Lookout& lookout) { lookouts_.push_back(&lookout); }
  void remove_lookout(Lookout& lookout) { std::erase(lookouts_, &lookout); }

 private:
  // A thread in block_on().
  struct Blocked {
    static constexpr std::uint32_t kDrive = 1;  // the gate was opened to pass the driver's role
    static constexpr std::uint32_t kDone = 2;   // all is done: leave, and touch nothing
    Gate gate;
    std::exception_ptr error;
    bool done = false;
    std::optional<std::list<Blocked*>::iterator> place;  // in blocked_
  };
  struct Root;
  Root run_blocked(Task<void> task, Blocked& blocked);
  Root run_detached(Task<void> task);

  // Runs everything that is ready or due. True if there was anything.
  bool run_pending();
  void run_ready();
  bool run_posted();
  void refuse_after_fork() const;
  // Waits for the next event outside the monitor. REQUIRES: we are the driver.
  void drive_once(Inside& inside);
  // False if it was not worth it, or nothing came in kLook.
  bool look_out(Inside& inside);
  bool expecting() const;
  bool look();
  // Leaves the monitor for a moment, in which callers may leave to us what they send.
  void let_others_run(Inside& inside);
  void drive_until_done(Blocked& me, Inside& inside);
  // Drives, or sleeps while another drives. If that one brought the result, the monitor is not
  // taken again.
  void wait_for_result(Blocked& me, Inside& inside);
  // Brings the driver back from epoll.
  void kick_driver();
  // The role is free: gives it to a blocked caller, or lets the background thread know.
  void pass_role_on();
  // The same; throws if the background thread would have to be started, and cannot be.
  void offer_role();
  bool background_needed() const;
  // At once, or when kLinger has passed: to wake it after each call would cost more than the call.
  void wake_background() { set_alarm(Duration(1)); }
  void set_alarm(Duration after);
  void background();
  enum class Duty { drive, linger, rest };
  Duty duty() const;
  void look_for_crowd();
  void rearm_timerfd();
  void watch_timerfd();

  static constexpr Duration kLinger = std::chrono::milliseconds(1);
  static constexpr std::size_t kCrowd = 2;  // callers
  static constexpr Duration kLook = std::chrono::microseconds(60);

  ForkWatch fork_watch_;
  mutable std::mutex monitor_;
  // All below is guarded by monitor_ unless noted.
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::posix::stream_descriptor timerfd_;
  BootTime timerfd_at_ = BootTime::max();
  TimerHeap timers_;
  RunQueue ready_;
  Random random_;
  std::list<Blocked*> blocked_;
  std::vector<Blocked*> finished_;  // their gates are opened when the monitor is left
  std::size_t detached_ = 0;
  std::size_t watches_ = 0;
  std::vector<Lookout*> lookouts_;
  Eagerness eagerness_;
  bool looking_ = false;       // the driver is awake, and runs what is ready
  bool driven_ = false;        // somebody has the driver's role
  Blocked* driver_ = nullptr;  // who, if it is a blocked caller
  std::thread::id driver_thread_;
  bool crowded_ = false;  // several callers are blocked: the background thread drives
  BootTime crowd_seen_{};
  bool stopping_ = false;
  BootTime last_call_{};  // Not min(): a difference to it overflows.

  std::mutex post_mutex_;  // guards posted_
  RunQueue posted_;
  std::atomic<bool> has_posted_ = false;

  int alarm_;                            // a timerfd: what the background thread waits for
  bool background_resting_ = true;       // guarded by monitor_: it looks at nothing unless woken
  mutable std::mutex background_mutex_;  // guards background_thread_
  std::thread background_thread_;

  CallbackThread callbacks_;
  CallbackThread urgent_callbacks_;
};

}  // namespace holdfast::internal
