// The background thread of RealRuntime: drives when no caller does. See real_runtime.h.
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/exhausted.h"
#include "base/real_runtime.h"
#include "base/thread.h"

namespace holdfast::internal {

bool RealRuntime::background_needed() const {
  return !timers_.empty() || reactor_.size() > 0 || detached_ > 0 || has_posted_;
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
  if (blocked_.size() + finished_.count >= kCrowd) crowd_seen_ = moment;
  crowded_ = moment - crowd_seen_ < kLinger;
}

void RealRuntime::set_alarm(Duration after) {
  itimerspec when{};
  when.it_value.tv_nsec = after.count();
  timerfd_settime(alarm_.number(), 0, &when, nullptr);
  if (background_runs_.load(std::memory_order_acquire)) return;
  try {
    start_background();
  } catch (const std::system_error&) {
    // The next call says so, and fails.
  }
}

void RealRuntime::start_background() {
  const CheckedLock lock(background_mutex_);
  if (background_thread_.joinable()) return;
  background_thread_ = start_thread([this] { background(); });
  background_runs_.store(true, std::memory_order_release);
}

void RealRuntime::require_background() {
  if (background_runs_.load(std::memory_order_acquire)) return;
  try {
    start_background();
  } catch (const std::system_error& problem) {
    throw LockError(no_thread(problem.code().value()));
  }
}

void RealRuntime::background() {
  for (;;) {
    std::uint64_t expirations = 0;
    if (read(alarm_.number(), &expirations, sizeof expirations) < 0 && errno != EINTR) return;
    Inside inside(*this);
    background_resting_ = false;
    Duty now_due = Duty::rest;
    bool failed = false;
    while (!stopping_ && !failed && (now_due = duty()) == Duty::drive) {
      try {
        const Role role(*this, nullptr);
        if (!run_pending()) drive_once(inside);
      } catch (...) {
        // The event that was not handled is reported again. Not at once, lest it be for ever.
        failed = true;
      }
      if (crowded_) look_for_crowd();
    }
    if (stopping_) return;
    background_resting_ = !failed && now_due == Duty::rest;
    if (failed) {
      set_alarm(kRetry);
    } else if (now_due == Duty::linger) {
      set_alarm(kLinger);
    }
  }
}

}  // namespace holdfast::internal
