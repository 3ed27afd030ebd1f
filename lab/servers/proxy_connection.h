// ProxyConnection: one connection through a Proxy: two sockets, and a pipe in each direction.
//
// Thread safety: none; the proxy's thread owns it.
#pragma once

#include <poll.h>

#include <array>

#include "proxy.h"
#include "proxy_pipe.h"

namespace holdfast::test {

using ProxyLanes = std::array<ProxyLane, 2>;  // by Direction

class ProxyConnection {
 public:
  using Clock = ProxyPipe::Clock;

  // Owns the two sockets, which must not block.
  ProxyConnection(int client, int server);
  ~ProxyConnection();
  ProxyConnection(const ProxyConnection&) = delete;
  ProxyConnection& operator=(const ProxyConnection&) = delete;

  ProxyPipe& pipe(Direction direction) { return pipes_[static_cast<std::size_t>(direction)]; }

  void abort();  // from here on, closing sends RST
  void cut() { cut_ = true; }

  // Descriptors to poll: the client, then the server.
  std::array<pollfd, 2> wishes(const ProxyLanes& lanes, Clock::time_point now) const;
  // When it has something to do, whatever the sockets say.
  Clock::time_point next_delivery(const ProxyLanes& lanes, Clock::time_point now) const;
  // REQUIRES: ready is what wishes() returned, polled. False: it is over.
  [[nodiscard]] bool move_bytes(ProxyLanes& lanes, const pollfd* ready, Clock::time_point now);

 private:
  int client_;
  int server_;
  std::array<ProxyPipe, 2> pipes_;  // by Direction
  bool cut_ = false;
};

}  // namespace holdfast::test
