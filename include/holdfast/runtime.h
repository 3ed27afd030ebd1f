// Runtime: the only source of time, timers, wake-ups and randomness for everything in Holdfast.
// The real one stands on the operating system; the simulated one is a virtual clock on one thread,
// so the code that ships is the code that is simulated.
//
// "Inside the loop" means: in a coroutine or callback that the runtime runs. Inside the loop
// nothing runs concurrently, so core code needs no locks; it must not block either.
//
// Thread safety: post(), withdraw() and now() from any thread; everything else inside the loop.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <stop_token>

#include "holdfast/export.h"
#include "holdfast/task.h"
#include "holdfast/time.h"

namespace holdfast {

namespace internal {
class ServerReporter;
}

// Something to run inside the loop. Intrusive: queueing it allocates nothing and cannot fail.
class HOLDFAST_API Runnable {
 public:
  Runnable() = default;
  Runnable(const Runnable&) = delete;
  Runnable& operator=(const Runnable&) = delete;

  virtual void run() = 0;

 protected:
  virtual ~Runnable() = default;

 private:
  friend class RunQueue;
  Runnable* previous_ = nullptr;
  Runnable* next_ = nullptr;
  bool queued_ = false;
};

// Something to run inside the loop at a moment. Intrusive, like Runnable.
class HOLDFAST_API Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  virtual void on_time() = 0;
  BootTime at() const { return at_; }
  bool armed() const { return index_ != kIdle; }

 protected:
  virtual ~Timer() = default;

 private:
  friend class TimerHeap;
  static constexpr std::size_t kIdle = SIZE_MAX;
  BootTime at_;
  std::uint64_t order_ = 0;
  std::size_t index_ = kIdle;
};

class HOLDFAST_API Runtime {
 public:
  virtual ~Runtime() = default;

  virtual BootTime now() const = 0;
  virtual WallTime wall() const = 0;
  virtual std::uint64_t random() = 0;

  // Runs `work` soon. `work` must stay alive until it ran or was dropped.
  virtual void defer(Runnable& work) = 0;
  virtual void drop(Runnable& work) = 0;

  // As defer and drop, from any thread; posting twice before it ran runs it once. After
  // withdraw() returned, `work` is not in the queue. What is posted must not be deferred as well.
  virtual void post(Runnable& work) = 0;
  virtual void withdraw(Runnable& work) = 0;

  // Arms (or moves) a timer.
  virtual void arm(Timer& timer, BootTime at) = 0;
  virtual void disarm(Timer& timer) = 0;

  // Runs the user's code outside the loop, on a thread where it may block.
  virtual void call_user(std::function<void()> callback) = 0;

  // A number in [0, 1).
  double uniform() { return static_cast<double>(random() >> 11) * 0x1.0p-53; }
  // `span` changed by up to +-`fraction` of itself, so that many clients do not act in step.
  Duration jitter(Duration span, double fraction = 0.2);

  // Hears of connections and of servers' errors, for Observer::on_server. Null: nobody does. It is set before an
  // engine is made, and outlives it.
  internal::ServerReporter* server_reporter() const { return server_reporter_; }
  void set_server_reporter(internal::ServerReporter* reporter) { server_reporter_ = reporter; }

 private:
  internal::ServerReporter* server_reporter_ = nullptr;
};

enum class Woken { signalled, timed_out, cancelled };

// A thing to wait for. Stays set until reset(). Inside the loop only, except that the stop_token
// of a waiter may be triggered from any thread.
class HOLDFAST_API Event {
 public:
  explicit Event(Runtime& runtime) : runtime_(runtime) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void set();
  void reset() { set_ = false; }
  bool is_set() const { return set_; }

  class Awaiter;
  // co_await event.wait(deadline, stop): a signal wins over cancellation, cancellation over time.
  Awaiter wait(Deadline deadline = Deadline::never(), std::stop_token stop = {});

 private:
  Runtime& runtime_;
  std::list<Awaiter*> waiters_;
  bool set_ = false;
};

class HOLDFAST_API Event::Awaiter final : private Runnable, private Timer {
 public:
  Awaiter(Event& event, Deadline deadline, std::stop_token stop)
      : event_(event), deadline_(deadline), stop_(std::move(stop)) {}
  ~Awaiter() override;

  bool await_ready();
  void await_suspend(std::coroutine_handle<> handle);
  Woken await_resume() { return *woken_; }

 private:
  friend class Event;

  // Carries a cancellation from the thread that triggered it into the loop. Apart from the
  // Runnable that resumes us, because both can be queued at once.
  class Cancellation final : public Runnable {
   public:
    explicit Cancellation(Awaiter& awaiter) : awaiter_(awaiter) {}
    void run() override;

   private:
    Awaiter& awaiter_;
  };
  struct OnStop {
    Awaiter* awaiter;
    void operator()() const noexcept;
  };

  void run() override { handle_.resume(); }
  void on_time() override { wake(Woken::timed_out); }
  void wake(Woken why);
  void unlink();

  Event& event_;
  Deadline deadline_;
  std::stop_token stop_;
  std::coroutine_handle<> handle_;
  std::list<Awaiter*>::iterator place_;
  bool linked_ = false;
  std::optional<Woken> woken_;
  Cancellation cancellation_{*this};
  std::optional<std::stop_callback<OnStop>> on_stop_;
};

// Waits until `moment` or until `stop`.
HOLDFAST_API Task<Woken> sleep_until(Runtime& runtime, BootTime moment, std::stop_token stop = {});

// Background tasks with an owner. spawn() runs the task to its first wait at once. Destroying the
// group destroys what is still suspended in it.
class HOLDFAST_API TaskGroup {
 public:
  explicit TaskGroup(Runtime& runtime);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void spawn(Task<void> task);
  // Destroys what is suspended, where it is.
  void abandon();
  std::size_t size() const { return running_.size(); }

  // Given to the tasks by whoever spawns them; triggered by stop().
  std::stop_token stop_token() const { return stop_.get_token(); }
  void stop() { stop_.request_stop(); }
  // Waits until every task has ended, at most until the deadline. True if all have.
  Task<bool> join(Deadline deadline);

 private:
  struct Root;
  struct RootPromise;
  Root run(std::list<std::coroutine_handle<>>::iterator place, Task<void> task);

  Runtime& runtime_;
  std::stop_source stop_;
  std::list<std::coroutine_handle<>> running_;
  Event idle_;
};

}  // namespace holdfast
