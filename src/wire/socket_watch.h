// SocketWatch: calls back inside the loop when a socket is readable, again and again, and when it
// is writable, once for each time that this was asked for. The socket belongs to a library: it is
// watched, never read, written or closed. Inside the loop only.
#pragma once

#include <functional>
#include <memory>

#include "holdfast/runtime.h"

namespace holdfast::internal {

class SocketWatch {
 public:
  // The callbacks may destroy the watch. A callback that reads nothing is called again at once;
  // without `on_readable` nobody is told that there is something to read.
  // REQUIRES: `runtime` is a RealRuntime; the watch is destroyed before the socket is closed, and
  // is the only one of this descriptor.
  SocketWatch(Runtime& runtime, int socket, std::function<void()> on_readable,
              std::function<void()> on_writable);
  ~SocketWatch();
  SocketWatch(const SocketWatch&) = delete;
  SocketWatch& operator=(const SocketWatch&) = delete;

  // Calls on_writable when it is; asking twice before that is asking once.
  void await_writable();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace holdfast::internal
