#include "proxy_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace holdfast::test {

ProxyConnection::ProxyConnection(int client, int server)
    : client_(client), server_(server), pipes_{{{client, server}, {server, client}}} {}

ProxyConnection::~ProxyConnection() {
  close(client_);
  close(server_);
}

void ProxyConnection::abort() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  for (const int socket : {client_, server_}) {
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
}

std::array<pollfd, 2> ProxyConnection::wishes(const ProxyLanes& lanes,
                                              Clock::time_point now) const {
  const auto wish = [&](int socket, std::size_t reading, std::size_t writing) {
    const auto next = pipes_[writing].next_write(lanes[writing].rule);
    const int events =
        (pipes_[reading].wants_read() ? POLLIN : 0) | (next && *next <= now ? POLLOUT : 0);
    // A socket that we want nothing from is left out: its hang-up would wake us again and again.
    return pollfd{events == 0 || cut_ ? -1 : socket, static_cast<short>(events), 0};
  };
  return {wish(client_, 0, 1), wish(server_, 1, 0)};
}

ProxyConnection::Clock::time_point ProxyConnection::next_delivery(const ProxyLanes& lanes,
                                                                  Clock::time_point now) const {
  auto first = Clock::time_point::max();
  for (std::size_t i = 0; i < pipes_.size() && !cut_; ++i) {
    const auto next = pipes_[i].next_write(lanes[i].rule);
    // Bytes that are due already wait for room in the socket: poll() tells.
    if (next && *next > now) first = std::min(first, *next);
  }
  return first;
}

bool ProxyConnection::move_bytes(ProxyLanes& lanes, const pollfd* ready, Clock::time_point now) {
  if (cut_) return true;
  for (std::size_t i = 0; i < pipes_.size(); ++i) {
    if ((ready[i].revents & ~POLLOUT) != 0 && pipes_[i].wants_read()) pipes_[i].read(lanes[i]);
  }
  for (std::size_t i = 0; i < pipes_.size(); ++i) {
    if (pipes_[i].write(lanes[i], now)) continue;
    abort();
    return false;
  }
  return !(pipes_[0].ended() && pipes_[1].ended());
}

}  // namespace holdfast::test
