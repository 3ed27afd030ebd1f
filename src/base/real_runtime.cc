#include "base/real_runtime.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/current_loop.h"
#include "base/exhausted.h"
#include "base/post_once.h"
#include "base/thread.h"
#include "holdfast/result.h"

namespace holdfast::internal {

namespace {

Descriptor open_alarm() {
  const int descriptor = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
  if (descriptor < 0) throw LockError(exhausted("an event loop cannot be made", errno));
  return Descriptor(descriptor);
}

}  // namespace

// ---- Entering and leaving ----------------------------------------------------------------------

RealRuntime::Inside::Inside(RealRuntime& runtime) : runtime_(runtime), outer_(nullptr) {
  runtime.monitor_.lock();
  outer_ = std::exchange(current_loop, &runtime);
}

RealRuntime::Inside::~Inside() {
  if (!held_) return;
  try {
    runtime_.run_ready();
  } catch (...) {
    // The rest stays queued for the thread that enters or drives next.
  }
  // Last of all: what ran just now may have ended the call of the caller to whom the role was offered.
  if (runtime_.driving_.free()) runtime_.pass_role_on();
  release();
}

void RealRuntime::Inside::release() {
  current_loop = outer_;
  // Unparked after the monitor is free: a woken thread may run at once, and want to enter again.
  BlockedCaller* finished = std::exchange(runtime_.finished_, {}).first();
  held_ = false;
  runtime_.monitor_.unlock();
  while (finished) {
    // It is gone once it is unparked.
    BlockedCaller* const next = finished->next;
    finished->parker.unpark(BlockedCaller::kDone);
    finished = next;
  }
}

void RealRuntime::Inside::retake() {
  runtime_.monitor_.lock();
  held_ = true;
  current_loop = &runtime_;
}

// In a child that was forked inside the loop, `current_loop` is still set; but the loop is the parent's.
bool RealRuntime::inside() const { return current_loop == this && !forked(); }

bool RealRuntime::on_own_thread() const {
  const CheckedLock lock(background_mutex_);
  return background_thread_.get_id() == std::this_thread::get_id() || callbacks_.on_this_thread();
}

void RealRuntime::run_elsewhere(std::function<void()> work) noexcept {
  try {
    start_thread(std::move(work)).detach();
  } catch (...) {
    // A leak, which is better than a client that is destroyed under the thread that runs in it.
  }
}

RealRuntime::RealRuntime()
    : random_(Random::from_kernel()), alarm_(open_alarm()), callback_retry_(*this) {}

RealRuntime::~RealRuntime() {
  {
    const Inside inside(*this);
    stopping_ = true;
  }
  kick_driver();
  std::thread ending;
  {
    const CheckedLock lock(background_mutex_);
    ending = std::move(background_thread_);
  }
  if (ending.joinable()) {
    wake_background();
    ending.join();
  }
}

WallTime RealRuntime::wall() const {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

void RealRuntime::call_user(std::function<void()> callback) {
  if (!callbacks_.call(std::move(callback))) post(callback_retry_);
}

void RealRuntime::CallbackRetry::run() {
  if (!armed()) runtime_.arm(*this, runtime_.now() + kRetry);
}

void RealRuntime::CallbackRetry::on_time() {
  if (!runtime_.callbacks_.start()) run();
}

void RealRuntime::resume_inside(std::coroutine_handle<> awaiter) {
  post_once(*this, [awaiter] { awaiter.resume(); });
}

// ---- Work from other threads -------------------------------------------------------------------

void RealRuntime::post(Runnable& work) {
  {
    const CheckedLock lock(post_mutex_);
    posted_.push(work);
    has_posted_ = true;
  }
  if (inside()) return;  // We run it ourselves when we leave.
  kick_driver();
  wake_background();
}

void RealRuntime::withdraw(Runnable& work) {
  const CheckedLock lock(post_mutex_);
  posted_.remove(work);
}

bool RealRuntime::run_posted() {
  bool any = false;
  while (has_posted_.load(std::memory_order_relaxed)) {
    Runnable* work = nullptr;
    {
      const CheckedLock lock(post_mutex_);
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
  driving_.look();
  inside.release();
  std::this_thread::yield();
  inside.retake();
  driving_.come_back();
}

bool RealRuntime::look_out(Inside& inside) {
  if (!finished_.empty()) {
    // Callers that get their results now may well ask for more at once.
    let_others_run(inside);
    if (!ready_.empty()) return true;
  }
  if (!expecting() || !spin_.should_spin()) return false;
  bool came = false;
  const BootTime begin = now();
  while (!came && expecting() && now() < begin + kLook) {
    let_others_run(inside);  // The server, or callers who have something to send.
    // Callers left us their commands, to be sent in one write. They may end our own call, so the loop
    // that checks for it runs them.
    if (!ready_.empty()) return true;
    came = look() || has_posted_;
  }
  came ? spin_.hit(now() - begin) : spin_.missed();
  return came;
}

void RealRuntime::wait_outside(Inside& inside) {
  driving_.wait();
  inside.release();
  reactor_.wait();
  inside.retake();
  driving_.come_back();
}

void RealRuntime::drive_once(Inside& inside) {
  if (look_out(inside)) return;
  // Callers may have left us something while we looked, and nobody brings us back for it. From
  // here on a post kicks us.
  if (!reactor_.prepare()) return;
  if (!ready_.empty() || has_posted_) {
    reactor_.unprepare();
    return;
  }
  if (!timers_.empty()) reactor_.wake_at(timers_.earliest());
  wait_outside(inside);
  reactor_.dispatch();
}

void RealRuntime::kick_driver() { reactor_.kick(); }

RealRuntime::Role::Role(RealRuntime& runtime, BlockedCaller* driver) : runtime_(runtime) {
  runtime.driving_.take(driver);
}

RealRuntime::Role::~Role() { runtime_.driving_.give_back(); }

RootCoroutine RealRuntime::run_blocked(Task<void> task, BlockedCaller& blocked) {
  try {
    co_await std::move(task);
  } catch (...) {
    blocked.error = std::current_exception();
  }
  blocked.done = true;
  if (driving_.by(blocked)) {
    // Another thread has finished the driver's call.
    if (driving_.state() != Driving::State::running) kick_driver();
  } else if (blocked.listed) {  // Otherwise it has not begun to wait.
    blocked_.remove(blocked);
    last_call_ = now();
    finished_.push(blocked);
  }
}

RootCoroutine RealRuntime::run_detached(Task<void> task) {
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
  require_background();
  if (inside()) {
    require_inside();
    run_detached(std::move(task));
    return;
  }
  if (current_loop) {
    // Inside the loop of another client, whose monitor we hold: two clients whose coroutines await each other's locks
    // would wait for each other's monitors.
    post_once(*this, [this, task = std::move(task)]() mutable {
      require_inside();
      run_detached(std::move(task));
    });
    return;
  }
  const Inside inside(*this);
  run_detached(std::move(task));
  if (driving_.state() != Driving::State::looking) run_pending();
  if (driving_.free() && background_needed()) {
    background_rests_ = false;
    wake_background();
  }
}

void RealRuntime::block_on(Task<void> task) {
  refuse_after_fork();
  if (inside()) {
    throw LockError(Failure(Code::would_deadlock,
                            "a blocking call inside the client's own loop would wait for itself; "
                            "co_await the async_ form"));
  }
  require_background();
  block(std::move(task));
}

void RealRuntime::finish_with(Task<void> task) noexcept {
  try {
    block(std::move(task));
  } catch (...) {
    // Nobody is left to hear of it. Locks that were not given back end by their ttl.
  }
}

void RealRuntime::block(Task<void> task) {
  BlockedCaller me;
  {
    Inside inside(*this);
    try {
      me.root = run_blocked(std::move(task), me).handle;
      // Timers too: calls that never wait must not starve the driver. A driver that looks does it
      // itself, with what others send meanwhile.
      if (driving_.state() != Driving::State::looking) run_pending();
      if (!me.done) {
        blocked_.push(me);
        // The background thread should not carry our result to us: we can fetch it ourselves.
        if (driving_.by_background() && !crowded(now())) kick_driver();
        wait_for_result(me, inside);
      }
    } catch (...) {
      // From a handler or a timer, ours or another's. If our call is done all the same, its result
      // counts.
      if (!me.done) me.error = std::current_exception();
      abandon(me);
    }
  }
  if (me.error) std::rethrow_exception(me.error);
}

void RealRuntime::abandon(BlockedCaller& blocked) {
  blocked_.remove(blocked);
  if (!blocked.done && blocked.root) blocked.root.destroy();
}

void RealRuntime::wait_for_result(BlockedCaller& me, Inside& inside) {
  while (!driving_.free()) {
    inside.release();
    if (me.parker.park() == BlockedCaller::kDone) return;
    inside.retake();
    if (me.done) {  // Meanwhile. The finisher has offered the role anew, but has not unparked us yet.
      inside.release();
      while (me.parker.park() != BlockedCaller::kDone) std::this_thread::yield();
      return;
    }
    me.parker.reset();
  }
  drive_until_done(me, inside);
  blocked_.remove(me);
  last_call_ = now();
}

void RealRuntime::drive_until_done(BlockedCaller& me, Inside& inside) {
  const Role role(*this, &me);
  while (!me.done) {
    if (!run_pending()) drive_once(inside);
  }
}

void RealRuntime::pass_role_on() {
  if (blocked_.size() >= kCrowd) {
    crowd_seen_ = now();
    wake_background();
  } else if (!blocked_.empty()) {
    // The caller that came last waits longest, and so passes the role on least often.
    blocked_.last()->parker.unpark(BlockedCaller::kDrive);
  } else if (background_rests_ && background_needed()) {
    background_rests_ = false;
    set_alarm(kLinger);
  }
}

// ---- Timers ------------------------------------------------------------------------------------

void RealRuntime::arm(Timer& timer, BootTime at) {
  require_inside();
  timers_.arm(timer, at);
  // The driver sleeps until the alarm; bring it forward if that is too late.
  if (driving_.state() == Driving::State::waiting) reactor_.wake_at(at);
}

Loop* Loop::current() { return current_loop; }

}  // namespace holdfast::internal
