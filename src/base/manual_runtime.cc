#include "base/manual_runtime.h"

#include <algorithm>
#include <vector>

#include "base/current_loop.h"
#include "base/post_once.h"
#include "base/thread.h"

namespace holdfast::internal {

namespace {

// The same in each run, so that a test that fails fails again.
constexpr std::uint64_t kSeed = 1;

// Moments on other clocks are translated by the real one: so the clock begins there, at a whole second (see
// Renewer's grid).
std::int64_t first_moment() {
  return std::chrono::floor<std::chrono::seconds>(BootClock::now()).time_since_epoch() /
         Duration(1);
}

Failure nobody_left() {
  return Failure(
      Code::would_deadlock,
      "every thread of this TestWorld waits, and a day on its clock has not ended this wait; a "
      "thread that is "
      "to end it must have used the world before, or the clock must be held: see hold_clock()");
}

}  // namespace

// Of a thread: tells the monitors that it has entered when it ends.
struct ManualRuntime::Membership {
  ~Membership() {
    for (const std::weak_ptr<Monitor>& each : all) {
      const std::shared_ptr<Monitor> monitor = each.lock();
      if (!monitor) continue;
      const std::lock_guard lock(monitor->mutex);
      monitor->users.erase(std::this_thread::get_id());
      monitor->changed.notify_all();
    }
  }
  // REQUIRES: the monitor is held.
  static void enter(const std::shared_ptr<Monitor>& monitor) {
    static thread_local Membership mine;
    if (!monitor->users.insert(std::this_thread::get_id()).second) return;
    std::erase_if(mine.all, [](const auto& each) { return each.expired(); });
    mine.all.push_back(monitor);
  }

  std::vector<std::weak_ptr<Monitor>> all;
};

struct ManualRuntime::Call {
  std::coroutine_handle<> root;  // until it is done
  std::exception_ptr error;
  bool done = false;
  bool waits = false;
  bool by_callback = false;
};

// ---- Entering and leaving ----------------------------------------------------------------------

ManualRuntime::Inside::Inside(ManualRuntime& runtime, By by)
    : runtime_(runtime),
      lock_(runtime.monitor_->mutex),
      outer_(std::exchange(current_loop, &runtime)) {
  if (by == By::user && !runtime.callback_thread_.on_this_thread()) {
    Membership::enter(runtime.monitor_);
  }
}

ManualRuntime::Inside::~Inside() {
  try {
    runtime_.run_ready();
  } catch (...) {
    // The rest stays queued for the thread that enters next.
  }
  current_loop = outer_;
}

void ManualRuntime::Inside::sleep() {
  current_loop = outer_;
  runtime_.monitor_->changed.wait(lock_);
  current_loop = &runtime_;
}

ManualRuntime::ManualRuntime()
    : monitor_(std::make_shared<Monitor>()),
      now_(first_moment()),
      wall_offset_(std::chrono::system_clock::now().time_since_epoch() - now().time_since_epoch()),
      random_(kSeed),
      poster_(start_thread([this] { run_posted(); })) {}

ManualRuntime::~ManualRuntime() {
  {
    const std::lock_guard lock(post_mutex_);
    stopping_ = true;
  }
  was_posted_.notify_one();
  poster_.join();
}

bool ManualRuntime::inside() const { return current_loop == this && !forked(); }

bool ManualRuntime::on_own_thread() const {
  return poster_.get_id() == std::this_thread::get_id() || callback_thread_.on_this_thread();
}

WallTime ManualRuntime::wall() const {
  return WallTime(std::chrono::duration_cast<std::chrono::microseconds>(now().time_since_epoch() +
                                                                        wall_offset_));
}

// ---- Work from other threads -------------------------------------------------------------------

void ManualRuntime::post(Runnable& work) {
  {
    const std::lock_guard lock(post_mutex_);
    posted_.push(work);
  }
  if (!inside()) was_posted_.notify_one();  // Else we run it ourselves when we leave.
}

void ManualRuntime::withdraw(Runnable& work) {
  const std::lock_guard lock(post_mutex_);
  posted_.remove(work);
}

Runnable* ManualRuntime::pop_posted() {
  const std::lock_guard lock(post_mutex_);
  return posted_.pop();
}

bool ManualRuntime::any_posted() const {
  const std::lock_guard lock(post_mutex_);
  return !posted_.empty();
}

void ManualRuntime::run_posted() {
  std::unique_lock lock(post_mutex_);
  for (;;) {
    was_posted_.wait(lock, [&] { return stopping_ || !posted_.empty(); });
    if (stopping_) return;
    lock.unlock();
    {
      const Inside inside(*this, Inside::By::ourselves);
      run_ready();
      monitor_->changed.notify_all();
    }
    lock.lock();
  }
}

void ManualRuntime::call_user(std::function<void()> callback) {
  ++callbacks_;
  callback_thread_.call([this, callback = std::move(callback)]() mutable {
    callback();
    callback = nullptr;  // It may hold the last of something.
    const std::lock_guard lock(monitor_->mutex);
    --callbacks_;
    monitor_->changed.notify_all();
  });
}

void ManualRuntime::resume_inside(std::coroutine_handle<> awaiter) {
  post_once(*this, [awaiter] { awaiter.resume(); });
}

// ---- Running -----------------------------------------------------------------------------------

void ManualRuntime::run_ready() {
  for (;;) {
    Runnable* work = ready_.pop();
    if (!work) work = pop_posted();
    if (!work) return;
    work->run();
  }
}

RootCoroutine ManualRuntime::run_blocked(Task<void> task, Call& call) {
  try {
    co_await std::move(task);
  } catch (...) {
    call.error = std::current_exception();
  }
  call.done = true;
  // Now, not when its thread wakes: until then the clock must not move by itself.
  set_waits(call, false);
  monitor_->changed.notify_all();
}

RootCoroutine ManualRuntime::run_detached(Task<void> task) { co_await std::move(task); }

void ManualRuntime::refuse_inside(const char* call) const {
  if (forked()) {
    throw LockError(Failure(Code::forked,
                            "this TestWorld is the parent process'; make a new one after fork()"));
  }
  if (inside()) {
    throw LockError(
        Failure(Code::would_deadlock, std::string(call) +
                                          " inside the client's own loop would wait for itself; "
                                          "co_await the async_ form"));
  }
}

void ManualRuntime::start(Task<void> task) {
  if (forked()) refuse_inside("");
  if (inside()) {
    run_detached(std::move(task));
  } else if (current_loop) {
    // Nobody takes a second monitor on top of one.
    post_once(*this, [task = std::move(task)]() mutable { run_detached(std::move(task)); });
  } else {
    const Inside inside(*this);
    run_detached(std::move(task));
  }
}

void ManualRuntime::block_on(Task<void> task) {
  refuse_inside("a blocking call");
  block(std::move(task));
}

void ManualRuntime::finish_with(Task<void> task) noexcept {
  try {
    block(std::move(task));
  } catch (...) {
    // Nobody is left to hear of it.
  }
}

void ManualRuntime::block(Task<void> task) {
  Call call;
  {
    Inside inside(*this);
    try {
      call.root = run_blocked(std::move(task), call).handle;
      run_ready();
      wait_for(call, inside);
    } catch (...) {
      if (!call.done) {
        call.error = std::current_exception();
        if (call.root) call.root.destroy();
      }
    }
  }
  if (call.error) std::rethrow_exception(call.error);
}

void ManualRuntime::set_waits(Call& call, bool waits) {
  if (std::exchange(call.waits, waits) == waits) return;
  if (call.by_callback) {
    callback_waits_ = waits;
  } else {
    waits ? ++waiting_ : --waiting_;
  }
}

void ManualRuntime::wait_for(Call& call, Inside& inside) {
  if (call.done) return;
  call.by_callback = callback_thread_.on_this_thread();
  set_waits(call, true);
  monitor_->changed.notify_all();
  Duration moved{};  // by itself
  while (!call.done) {
    if (!all_wait()) {
      inside.sleep();
      continue;
    }
    const BootTime before = now();
    if (!step(before + kLongestWait - moved)) {
      set_waits(call, false);
      throw LockError(nobody_left());
    }
    moved += now() - before;
  }
}

// ---- The clock ---------------------------------------------------------------------------------

void ManualRuntime::set_clock(BootTime moment) {
  now_.store(std::max(now(), moment).time_since_epoch().count(), std::memory_order_release);
}

bool ManualRuntime::step(BootTime limit) {
  run_ready();
  if (timers_.empty() || timers_.earliest() > limit) return false;
  set_clock(timers_.earliest());
  const BootTime moment = now();
  while (Timer* timer = timers_.pop_due(moment)) timer->on_time();
  run_ready();
  return true;
}

bool ManualRuntime::settled() const {
  return ready_.empty() && !any_posted() && (callbacks_ == 0 || callback_waits_);
}

bool ManualRuntime::all_wait() const {
  return !clock_held_ && waiting_ == monitor_->users.size() && settled();
}

void ManualRuntime::settle(Inside& inside) {
  run_ready();
  // A callback that moves the clock would wait for its own end.
  if (callback_thread_.on_this_thread()) return;
  while (!settled()) {
    inside.sleep();
    run_ready();
  }
}

void ManualRuntime::advance(Duration span) {
  refuse_inside("advance()");
  Inside inside(*this);
  settle(inside);
  const BootTime target = now() + span;
  while (step(target)) settle(inside);
  set_clock(target);
}

void ManualRuntime::jump(Duration span) {
  refuse_inside("pause()");
  Inside inside(*this);
  settle(inside);
  set_clock(now() + span);
  while (step(now())) settle(inside);
}

void ManualRuntime::hold_clock(bool held) {
  refuse_inside("hold_clock()");
  const Inside inside(*this);
  clock_held_ = held;
  monitor_->changed.notify_all();
}

void ManualRuntime::await_waiting(std::size_t calls) {
  refuse_inside("await_waiting()");
  Inside inside(*this);
  settle(inside);
  while (waiting_ + (callback_waits_ ? 1 : 0) < calls) {
    inside.sleep();
    settle(inside);
  }
}

}  // namespace holdfast::internal
