// ProgressLine: how far a simulation is, on a terminal. Any thread may show; it does so now and
// then only.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>

namespace holdfast::cli {

class ProgressLine {
 public:
  explicit ProgressLine(bool on_terminal) : on_terminal_(on_terminal) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const char* what, std::uint64_t schedules) {
    if (!on_terminal_) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    const auto now = std::chrono::steady_clock::now();
    if (!lock.owns_lock() || now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    shown_ = true;
    std::fprintf(stderr, "\r%s: %llu schedules\033[K", what,
                 static_cast<unsigned long long>(schedules));
    std::fflush(stderr);
  }

 private:
  bool on_terminal_;
  bool shown_ = false;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace holdfast::cli
