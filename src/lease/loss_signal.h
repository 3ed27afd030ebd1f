// LossSignal: the stop_source behind Lease::lost(), made when somebody first asks for its token. A loss that
// nobody asked about is then told without running anybody's code. Thread safety: all of it.
#pragma once

#include <mutex>
#include <stop_token>

namespace holdfast::internal {

class LossSignal {
 public:
  std::stop_token token() {
    const std::lock_guard lock(mutex_);
    if (!source_.stop_possible()) {
      source_ = std::stop_source();
      if (fired_) source_.request_stop();  // Nobody can have registered a callback.
    }
    return source_.get_token();
  }

  // The lock is lost. True, once, if somebody has a token: then call deliver().
  bool fire() noexcept {
    const std::lock_guard lock(mutex_);
    if (fired_) return false;
    fired_ = true;
    return source_.stop_possible();
  }

  // Triggers the tokens; runs the callbacks that are registered on them, which may block.
  // REQUIRES: fire() returned true.
  void deliver() noexcept {
    std::stop_source source = source_;  // A callback may destroy this object.
    source.request_stop();
  }

 private:
  std::mutex mutex_;  // guards the creation of source_, and fired_
  std::stop_source source_{std::nostopstate};
  bool fired_ = false;
};

}  // namespace holdfast::internal
