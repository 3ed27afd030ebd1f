// BootTimer: a descriptor that becomes readable at a moment on CLOCK_BOOTTIME. The timeout of poll
// would not do: it stands still while the machine sleeps.
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "holdfast/time.h"

namespace holdfast::cli {

class BootTimer {
 public:
  BootTimer() : descriptor_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {}
  ~BootTimer() { close(descriptor_); }
  BootTimer(const BootTimer&) = delete;
  BootTimer& operator=(const BootTimer&) = delete;

  int descriptor() const { return descriptor_; }

  void arm(BootTime at) {
    // Zero would disarm it; a moment in the past fires at once.
    const auto since_boot = std::max<Duration>(at.time_since_epoch(), Duration(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
    itimerspec when{};
    when.it_value.tv_sec = seconds.count();
    when.it_value.tv_nsec = (since_boot - seconds).count();
    timerfd_settime(descriptor_, TFD_TIMER_ABSTIME, &when, nullptr);
  }

  void clear() {
    std::uint64_t times = 0;
    [[maybe_unused]] const ssize_t got = read(descriptor_, &times, sizeof times);
  }

 private:
  int descriptor_;
};

}  // namespace holdfast::cli
