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
  // The callbacks may destroy the watch.
  // REQUIRES: runtime.io() is not null; the watch is destroyed before the socket is closed.
  SocketWatch(Runtime& runtime, int socket, std::function<void()> on_readable,
              std::function<void()> on_writable);
  ~SocketWatch();
  SocketWatch(const SocketWatch&) = delete;
  SocketWatch& operator=(const SocketWatch&) = delete;

  // Calls on_writable when it is; asking twice before that is asking once.
  void await_writable();

 private:
  struct State;
  static void wait_readable(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace holdfast::internal
