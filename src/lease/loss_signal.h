// LossSignal: the stop_source behind Lease::lost(), made when somebody first asks for its token. A loss that
// nobody asked about is then told without running anybody's code. It also triggers stop_sources of others
// (a multi-lock's), which need no callback for that: to end one waits for it while it runs, and in a forked
// child that never ends. Thread safety: all of it.
#pragma once

#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

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

  // Triggers `other` as well; at once, on this thread, if the lock is lost already.
  void also_trigger(std::stop_source other) {
    {
      const std::lock_guard lock(mutex_);
      if (!fired_) {
        others_.push_back(std::move(other));
        return;
      }
    }
    other.request_stop();
  }

  // The lock is lost. True, once, if somebody is to hear of it: then call deliver().
  bool fire() noexcept {
    const std::lock_guard lock(mutex_);
    if (fired_) return false;
    fired_ = true;
    return source_.stop_possible() || !others_.empty();
  }

  // Triggers the tokens; runs the callbacks that are registered on them, which may block.
  // REQUIRES: fire() returned true.
  void deliver() noexcept {
    std::stop_source source(std::nostopstate);  // Ours: a callback may destroy this object.
    std::vector<std::stop_source> others;
    {
      const std::lock_guard lock(mutex_);
      source = source_;
      others.swap(others_);
    }
    for (std::stop_source& other : others) other.request_stop();
    source.request_stop();
  }

 private:
  std::mutex mutex_;  // guards the creation of source_, and all below
  std::stop_source source_{std::nostopstate};
  std::vector<std::stop_source> others_;
  bool fired_ = false;
};

}  // namespace holdfast::internal
