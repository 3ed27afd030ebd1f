#include "base/real_runtime.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <system_error>

#include "base/thread.h"
#include "holdfast/result.h"

namespace holdfast::internal {

namespace {

// The runtime whose monitor this thread holds, if any.
thread_local RealRuntime* inside_of = nullptr;

int open_timerfd(int flags) {
  const int descriptor = timerfd_create(CLOCK_BOOTTIME, flags | TFD_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
  return descriptor;
}

}  // namespace

// ---- Entering and leaving ----------------------------------------------------------------------

RealRuntime::Inside::Inside(RealRuntime& runtime)
    : runtime_(runtime), lock_(runtime.monitor_), outer_(std::exchange(inside_of, &runtime)) {}

RealRuntime::Inside::~Inside() {
  if (!lock_.owns_lock()) return;
  runtime_.run_ready();
  // Last of all: what ran just now may have ended the call of one to whom the role was offered.
  if (!runtime_.driven_ && !runtime_.stopping_) runtime_.pass_role_on();
  release();
}

void RealRuntime::Inside::release() {
  inside_of = outer_;
  // Not before the monitor is free: whoever is woken may run at once, and want to enter again.
  const std::vector<Blocked*> finished = std::exchange(runtime_.finished_, {});
  lock_.unlock();
  for (Blocked* blocked : finished) blocked->gate.open(Blocked::kDone);
}

void RealRuntime::Inside::retake() {
  lock_.lock();
  inside_of = &runtime_;
}

// In a child that was forked inside the loop, `inside_of` is still set; but the loop is the parent's.
bool RealRuntime::inside() const { return inside_of == this && !forked(); }

bool RealRuntime::on_own_thread() const {
  const std::lock_guard lock(background_mutex_);
  return background_thread_.get_id() == std::this_thread::get_id() || callbacks_.on_this_thread() ||
         urgent_callbacks_.on_this_thread();
}

void RealRuntime::run_elsewhere(std::function<void()> work) {
  start_thread(std::move(work)).detach();
}

RealRuntime::RealRuntime()
    : io_(1),
      work_(io_.get_executor()),
      timerfd_(io_, open_timerfd(TFD_NONBLOCK)),
      random_(Random::from_kernel()),
      alarm_(open_timerfd(0)) {
  watch_timerfd();
}

RealRuntime::~RealRuntime() {
  {
    const Inside inside(*this);
    stopping_ = true;
  }
  kick_driver();
  if (background_thread_.joinable()) {
    wake_background();
    background_thread_.join();
  }
  close(alarm_);
}

WallTime RealRuntime::wall() const {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

void RealRuntime::call_user(std::function<void()> callback) {
  callbacks_.call(std::move(callback));
}

void RealRuntime::call_user_soon(std::function<void()> callback) {
  urgent_callbacks_.call(std::move(callback));
}

Loop* RealRuntime::current_loop() { return inside_of; }

void RealRuntime::resume_inside(std::coroutine_handle<> awaiter) {
  struct Resumption final : Runnable {
    explicit Resumption(std::coroutine_handle<> the_handle) : handle(the_handle) {}
    void run() override {
      const std::coroutine_handle<> resumed = handle;
      delete this;
      resumed.resume();
    }
    std::coroutine_handle<> handle;
  };
  post(*new Resumption(awaiter));
}

// ---- Work from other threads -------------------------------------------------------------------

void RealRuntime::post(Runnable& work) {
  {
    const std::lock_guard lock(post_mutex_);
    posted_.push(work);
    has_posted_ = true;
  }
  if (inside()) return;  // We run it ourselves when we leave.
  kick_driver();
  wake_background();
}

void RealRuntime::withdraw(Runnable& work) {
  const std::lock_guard lock(post_mutex_);
  posted_.remove(work);
}

bool RealRuntime::run_posted() {
  bool any = false;
  while (has_posted_.load(std::memory_order_relaxed)) {
    Runnable* work = nullptr;
    {
      const std::lock_guard lock(post_mutex_);
      work = posted_.pop();
      has_posted_ = !posted_.empty();
    }
    // One at a time: what runs may withdraw what is still queued.
    if (work) work->run();
    any = true;
  }
  return any;
}

// ---- Running -----------------------------------------------------------------------------------

void RealRuntime::run_ready() {
  do {
    while (Runnable* work = ready_.pop()) work->run();
  } while (run_posted());
}

bool RealRuntime::run_pending() {
  bool any = run_posted();
  if (!timers_.empty()) {
    const BootTime moment = now();
    while (Timer* timer = timers_.pop_due(moment)) {
      timer->on_time();
      any = true;
    }
  }
  any = any || !ready_.empty();
  run_ready();
  return any;
}

bool RealRuntime::expecting() const {
  return std::any_of(lookouts_.begin(), lookouts_.end(),
                     [](const Lookout* lookout) { return lookout->expecting(); });
}

bool RealRuntime::look() {
  bool any = false;
  // By number: what comes in may open and close connections.
  for (std::size_t i = 0; i < lookouts_.size(); ++i) {
    if (lookouts_[i]->expecting() && lookouts_[i]->look()) any = true;
  }
  return any;
}

void RealRuntime::let_others_run(Inside& inside) {
  looking_ = true;
  inside.release();
  std::this_thread::yield();
  inside.retake();
  looking_ = false;
}

bool RealRuntime::look_out(Inside& inside) {
  if (!finished_.empty()) {
    // Those who have their results may well ask for more at once.
    let_others_run(inside);
    if (!ready_.empty()) return true;
  }
  if (!expecting() || !eagerness_.worth_a_look()) return false;
  bool came = false;
  const BootTime begin = now();
  while (!came && expecting() && now() < begin + kLook) {
    let_others_run(inside);  // The server, or callers who have something to send.
    // What callers left to us: all their commands in one write. Our own call may be done by it, so
    // this is for our caller to run, who looks.
    if (!ready_.empty()) return true;
    came = look() || has_posted_;
  }
  came ? eagerness_.came(now() - begin) : eagerness_.came_not();
  return came;
}

void RealRuntime::drive_once(Inside& inside) {
  if (look_out(inside)) return;
  // Callers may have left us something while we looked, and nobody brings us back for it.
  if (!ready_.empty() || has_posted_) return;
  rearm_timerfd();
  inside.release();
  io_.run_one();
  inside.retake();
}

void RealRuntime::kick_driver() {
  asio::post(io_, [] {});
}

struct RealRuntime::Root {
  struct promise_type {
    Root get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

RealRuntime::Root RealRuntime::run_blocked(Task<void> task, Blocked& blocked) {
  try {
    co_await std::move(task);
  } catch (...) {
    blocked.error = std::current_exception();
  }
  blocked.done = true;
  if (driver_ != &blocked) {
    if (!blocked.place) co_return;  // It has not begun to wait.
    blocked_.erase(*blocked.place);
    last_call_ = now();
    finished_.push_back(&blocked);
  } else if (driver_thread_ != std::this_thread::get_id()) {
    kick_driver();  // Another thread has finished the driver's call while it waits in epoll.
  }
}

RealRuntime::Root RealRuntime::run_detached(Task<void> task) {
  ++detached_;
  co_await std::move(task);
  --detached_;
}

void RealRuntime::refuse_after_fork() const {
  if (!forked()) return;
  throw LockError(Failure(Code::forked,
                          "this client was opened by the parent process; open a new one after "
                          "fork()"));
}

void RealRuntime::start(Task<void> task) {
  refuse_after_fork();
  if (inside()) {
    run_detached(std::move(task));
    return;
  }
  const Inside inside(*this);
  run_detached(std::move(task));
  if (!looking_) run_pending();
  if (!driven_ && background_needed()) {
    background_resting_ = false;
    wake_background();
  }
}

void RealRuntime::block_on(Task<void> task) {
  refuse_after_fork();
  if (this->inside()) {
    throw LockError(Failure(Code::would_deadlock,
                            "a blocking call inside the client's own loop would wait for itself; "
                            "co_await the async_ form"));
  }
  Blocked me;
  {
    Inside inside(*this);
    run_blocked(std::move(task), me);
    // Timers too: calls that never wait must not starve the one who drives. A driver who is awake
    // does it himself, with what others send meanwhile.
    if (!looking_) run_pending();
    if (!me.done) {
      me.place = blocked_.insert(blocked_.end(), &me);
      // The background thread should not carry our result to us: we can fetch it ourselves.
      if (driven_ && driver_ == nullptr && !crowded_) kick_driver();
      wait_for_result(me, inside);
    }
  }
  if (me.error) std::rethrow_exception(me.error);
}

void RealRuntime::wait_for_result(Blocked& me, Inside& inside) {
  for (;;) {
    if (!driven_) {
      drive_until_done(me, inside);
      blocked_.erase(*me.place);
      last_call_ = now();
      return;
    }
    inside.release();
    if (me.gate.wait() == Blocked::kDone) return;
    inside.retake();
    if (me.done) {  // Meanwhile; but who finished it has not opened the gate yet.
      if (!driven_) pass_role_on();
      inside.release();
      while (me.gate.wait() != Blocked::kDone) std::this_thread::yield();
      return;
    }
    me.gate.close();
  }
}

void RealRuntime::drive_until_done(Blocked& me, Inside& inside) {
  driven_ = true;
  driver_ = &me;
  driver_thread_ = std::this_thread::get_id();
  while (!me.done) {
    if (!run_pending()) drive_once(inside);
  }
  driver_ = nullptr;
  driven_ = false;
}

void RealRuntime::pass_role_on() {
  try {
    offer_role();
  } catch (const std::system_error&) {
    // The background thread could not be started: those who wait must do without it.
    crowded_ = false;
    background_resting_ = true;
    if (!blocked_.empty()) blocked_.back()->gate.open(Blocked::kDrive);
  }
}

void RealRuntime::offer_role() {
  if (blocked_.size() >= kCrowd) {
    crowd_seen_ = now();
    crowded_ = true;
    wake_background();
  } else if (!blocked_.empty()) {
    // The one who came last waits longest, and so passes the role on least often.
    blocked_.back()->gate.open(Blocked::kDrive);
  } else if (background_resting_ && background_needed()) {
    background_resting_ = false;
    set_alarm(kLinger);
  }
}

// ---- The background thread ---------------------------------------------------------------------

bool RealRuntime::background_needed() const {
  return !timers_.empty() || watches_ > 0 || detached_ > 0 || has_posted_;
}

RealRuntime::Duty RealRuntime::duty() const {
  // Also where there is nothing but callers who wait for each other: they count on it.
  if (crowded_ && !driven_) return Duty::drive;
  if (!background_needed()) return Duty::rest;
  const bool busy = now() - last_call_ < kLinger;
  // Between short calls it neither rests nor drives: to be woken after each would cost more than
  // the calls themselves.
  if (driven_ || !blocked_.empty()) return busy ? Duty::linger : Duty::rest;
  return busy && detached_ == 0 && !has_posted_ ? Duty::linger : Duty::drive;
}

void RealRuntime::look_for_crowd() {
  const BootTime moment = now();
  if (blocked_.size() + finished_.size() >= kCrowd) crowd_seen_ = moment;
  crowded_ = moment - crowd_seen_ < kLinger;
}

void RealRuntime::set_alarm(Duration after) {
  itimerspec when{};
  when.it_value.tv_nsec = after.count();
  timerfd_settime(alarm_, 0, &when, nullptr);
  const std::lock_guard lock(background_mutex_);
  if (!background_thread_.joinable()) {
    background_thread_ = start_thread([this] { background(); });
  }
}

void RealRuntime::background() {
  for (;;) {
    std::uint64_t expirations = 0;
    if (read(alarm_, &expirations, sizeof expirations) < 0 && errno != EINTR) return;
    Inside inside(*this);
    background_resting_ = false;
    Duty now_due = Duty::rest;
    while (!stopping_ && (now_due = duty()) == Duty::drive) {
      driven_ = true;
      if (!run_pending()) drive_once(inside);
      driven_ = false;
      if (crowded_) look_for_crowd();
    }
    if (stopping_) return;
    background_resting_ = now_due == Duty::rest;
    if (now_due == Duty::linger) set_alarm(kLinger);
  }
}

// ---- Timers ------------------------------------------------------------------------------------

void RealRuntime::arm(Timer& timer, BootTime at) {
  timers_.arm(timer, at);
  // Whoever drives now sleeps until the timerfd's moment; bring it forward if that is too late.
  if (driven_ && at < timerfd_at_) rearm_timerfd();
}

void RealRuntime::rearm_timerfd() {
  // Only forward: a timerfd that fires too early costs one wake-up, disarming costs a system call
  // for every short critical section.
  if (timers_.empty() || timers_.earliest() >= timerfd_at_) return;
  timerfd_at_ = timers_.earliest();
  const auto nanoseconds = std::max<std::int64_t>(timerfd_at_.time_since_epoch().count(), 1);
  itimerspec when{};
  when.it_value.tv_sec = nanoseconds / 1'000'000'000;
  when.it_value.tv_nsec = nanoseconds % 1'000'000'000;
  timerfd_settime(timerfd_.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void RealRuntime::watch_timerfd() {
  timerfd_.async_wait(asio::posix::stream_descriptor::wait_read, [this](std::error_code error) {
    if (error) return;
    const Inside inside(*this);
    std::uint64_t expirations = 0;
    if (read(timerfd_.native_handle(), &expirations, sizeof expirations) > 0) {
      timerfd_at_ = BootTime::max();
    }
    watch_timerfd();
  });
}

Loop* Loop::current() { return RealRuntime::current_loop(); }

}  // namespace holdfast::internal
