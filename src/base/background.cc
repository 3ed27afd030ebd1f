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

bool RealRuntime::crowded(BootTime moment) {
  if (blocked_.size() + finished_.size() >= kCrowd) crowd_seen_ = moment;
  return moment - crowd_seen_ < kLinger;
}

RealRuntime::Duty RealRuntime::duty() {
  const BootTime moment = now();
  // Also where there is nothing but callers that wait for each other: they count on it.
  if (driving_.free() && crowded(moment)) return Duty::drive;
  if (!background_needed()) return Duty::rest;
  const bool busy = moment - last_call_ < kLinger;
  // Between short calls it neither rests nor drives: to be woken after each would cost more than
  // the calls themselves.
  if (!driving_.free() || !blocked_.empty()) return busy ? Duty::linger : Duty::rest;
  return busy && detached_ == 0 && !has_posted_ ? Duty::linger : Duty::drive;
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
    background_rests_ = false;
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
    }
    if (stopping_) return;
    background_rests_ = !failed && now_due == Duty::rest;
    if (failed) {
      set_alarm(kRetry);
    } else if (now_due == Duty::linger) {
      set_alarm(kLinger);
    }
  }
}

}  // namespace holdfast::internal
