// ManualRuntime: a Runtime whose clock stands still until it is moved, for the tests of users (holdfast/testing.h).
// Blocking calls come from any threads. All clients of a test share one, so that what they do has one order.
//
//   caller ──enter──► run what is ready ──done──► leave
//                          │ not done
//                          └─ sleep until another thread, or the clock, brings the result
//
// The clock moves
//   - by advance(): from timer to timer, each at its own moment. Callbacks that a timer starts have ended, or wait in a
//     call themselves, before the next timer is due;
//   - by itself, when every user waits in a call: nobody is left who could move it. Users are the threads that have
//     entered, as long as they live, and the callback thread while a callback runs.
//
// Work that is posted from outside the loop (by a stop_token, for example) is run by a thread of its own.
//
// Hazards, and what prevents each:
//   - A call waits for ever beside leases that are renewed for ever: it fails with would_deadlock when the clock has
//     moved by itself for kLongestWait.
//   - A thread that is to end the wait has not entered yet, so the clock moves before it comes: hold_clock().
//   - A callback waits for the thread that advances the clock: that is the test's own deadlock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "base/callback_thread.h"
#include "base/fork_watch.h"
#include "base/random.h"
#include "base/require.h"
#include "base/root_coroutine.h"
#include "base/run_queue.h"
#include "base/timer_heap.h"
#include "holdfast/async.h"
#include "holdfast/runtime.h"

namespace holdfast::internal {

class ManualRuntime final : public Runtime, public Loop {
 public:
  ManualRuntime();
  // REQUIRES: not inside the loop, not on a thread of ours, not in a forked child.
  ~ManualRuntime() override;

  // Runtime
  BootTime now() const override { return BootTime(Duration(now_.load(std::memory_order_acquire))); }
  WallTime wall() const override;
  std::uint64_t random() override { return require_inside(), random_.next(); }
  void defer(Runnable& work) override { require_inside(), ready_.push(work); }
  void drop(Runnable& work) override { require_inside(), ready_.remove(work); }
  void post(Runnable& work) override;
  void withdraw(Runnable& work) override;
  void arm(Timer& timer, BootTime at) override { require_inside(), timers_.arm(timer, at); }
  void disarm(Timer& timer) override { require_inside(), timers_.disarm(timer); }
  void call_user(std::function<void()> callback) override;

  // Loop
  bool inside() const override;
  void start(Task<void> task) override;
  void block_on(Task<void> task) override;
  void resume_inside(std::coroutine_handle<> awaiter) override;

  // As block_on(), for the last call of all; ignores failures.
  void finish_with(Task<void> task) noexcept;
  bool forked() const { return fork_watch_.forked(); }
  // True on the threads that cannot destroy the runtime.
  bool on_own_thread() const;

  // Throws LockError: would_deadlock inside the loop, forked in a forked child. These calls do so themselves:
  void refuse_inside(const char* call) const;
  void advance(Duration span);
  // As if this process had slept: all that is due meanwhile happens afterwards.
  void jump(Duration span);
  // True: the clock moves by these two alone.
  void hold_clock(bool held);
  // Waits, in real time, until so many threads wait in calls, and nothing is left to do at this moment.
  void await_waiting(std::size_t calls);

 private:
  // The monitor, and the threads that have entered and live. A thread that ends tells it, also after us.
  struct Monitor {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::thread::id> users;
  };
  struct Membership;
  struct Call;

 public:
  // Takes the monitor for the life of the object; runs what is ready before it leaves.
  class Inside {
   public:
    enum class By { user, ourselves };
    explicit Inside(ManualRuntime& runtime, By by = By::user);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    // Leaves it until something may have changed.
    void sleep();

   private:
    ManualRuntime& runtime_;
    std::unique_lock<std::mutex> lock_;
    Loop* outer_;
  };

 private:
  void require_inside() const { HOLDFAST_REQUIRE_DEBUG(inside()); }
  RootCoroutine run_blocked(Task<void> task, Call& call);
  static RootCoroutine run_detached(Task<void> task);
  void block(Task<void> task);
  void wait_for(Call& call, Inside& inside);
  void set_waits(Call& call, bool waits);
  void run_ready();
  Runnable* pop_posted();
  bool any_posted() const;
  // Runs the timers of the next moment that has any, if that is not after `limit`.
  bool step(BootTime limit);
  void set_clock(BootTime moment);
  // The clock may move by itself.
  bool all_wait() const;
  // Nothing is left to do at this moment.
  bool settled() const;
  void settle(Inside& inside);
  void run_posted();

  static constexpr Duration kLongestWait = std::chrono::hours(24);

  ForkWatch fork_watch_;
  const std::shared_ptr<Monitor> monitor_;
  std::atomic<std::int64_t> now_;
  const Duration wall_offset_;
  // Guarded by the monitor:
  Random random_;
  TimerHeap timers_;
  RunQueue ready_;
  std::size_t waiting_ = 0;      // users' calls
  bool callback_waits_ = false;  // in a call
  std::atomic<std::size_t> callbacks_ = 0;
  bool clock_held_ = false;
  // Not the monitor: a thread that posts may hold what a thread in the monitor waits for.
  mutable std::mutex post_mutex_;
  std::condition_variable was_posted_;
  RunQueue posted_;
  bool stopping_ = false;

  std::thread poster_;
  CallbackThread callback_thread_;
};

}  // namespace holdfast::internal
