// Reopening: opens a connection on demand, in the background, and again after it broke, with a
// jittered pause after each failure. In the background, because whoever asked first may give up
// first, and others wait for the same. Inside the loop only.
#pragma once

#include <functional>
#include <stop_token>

#include "holdfast/result.h"
#include "holdfast/runtime.h"

namespace holdfast::internal {

class Reopening {
 public:
  using Open = std::function<Task<Result<void>>()>;

  // `failed` is called when `open` has failed.
  Reopening(Runtime& runtime, Open open, std::function<void()> failed)
      : runtime_(runtime),
        open_(std::move(open)),
        failed_(std::move(failed)),
        done_(runtime),
        background_(runtime) {}

  void begin();
  bool under_way() const { return under_way_; }
  // Waits for the end of the one that is under way.
  Event::Awaiter wait(Deadline deadline, std::stop_token stop) {
    return done_.wait(deadline, std::move(stop));
  }
  // How the last one ended.
  const Result<void>& last() const { return last_; }
  // True if the last one failed, or one has been under way for so long. (A first connection may
  // take its time, with TLS or a name to look up.)
  bool is_hard(Duration patience) const;

  void abandon() { background_.abandon(); }

 private:
  Task<void> run();

  Runtime& runtime_;
  Open open_;
  std::function<void()> failed_;
  bool under_way_ = false;
  BootTime since_{};
  Event done_;
  Result<void> last_;
  BootTime not_before_{};
  Duration backoff_{};
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal
