// DuplicateWatch: tells when a socket that a client library owns can be read from or written to. It
// watches a duplicate of the descriptor, so the library may close its own whenever it likes.
// Inside the loop only.
#pragma once

#include <functional>
#include <memory>

#include "holdfast/runtime.h"

namespace holdfast::internal {

class DuplicateWatch {
 public:
  // REQUIRES: runtime.io() is not null. `on_readable` is called whenever there is something to
  // read, or the other end has closed, until the watch is destroyed; it may destroy the watch. If
  // it reads nothing, it is called again at once.
  DuplicateWatch(Runtime& runtime, int descriptor, std::function<void()> on_readable);
  ~DuplicateWatch();
  DuplicateWatch(const DuplicateWatch&) = delete;
  DuplicateWatch& operator=(const DuplicateWatch&) = delete;

  // Calls `then` once, when the socket can be written to.
  void when_writable(std::function<void()> then);

  // -1 if there was no descriptor left for the duplicate.
  int descriptor() const;

 private:
  struct State;
  static void wait(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace holdfast::internal
