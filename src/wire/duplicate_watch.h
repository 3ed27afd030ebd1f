// DuplicateWatch: tells when a socket that a client library owns can be read from or written to. It
// watches a duplicate of the descriptor, so the library may close its own whenever it likes.
// Inside the loop only.
#pragma once

#include <functional>
#include <optional>

#include "base/descriptor.h"
#include "wire/child_sockets.h"
#include "wire/socket_watch.h"

namespace holdfast::internal {

class DuplicateWatch {
 public:
  // REQUIRES: `runtime` is a RealRuntime. `on_readable` is called whenever there is something to
  // read, or the other end has closed, until the watch is destroyed; it may destroy the watch. If
  // it reads nothing, it is called again at once.
  // Throws LockError (unreachable) if there is no descriptor left for the duplicate.
  DuplicateWatch(Runtime& runtime, int descriptor, std::function<void()> on_readable);

  // Calls `then` once, when the socket can be written to.
  void when_writable(std::function<void()> then);

  int descriptor() const { return duplicate_.number(); }

 private:
  Descriptor duplicate_;
  ClosedInChild in_child_;
  std::function<void()> on_writable_;
  SocketWatch watch_;  // ends before the duplicate is closed
};

}  // namespace holdfast::internal
