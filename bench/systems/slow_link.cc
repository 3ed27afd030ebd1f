#include "slow_link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>

namespace holdfast::bench {

namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Both ends of a connection; closed when nobody pumps any more.
struct Pipe {
  ~Pipe() {
    close(client);
    close(server);
  }
  int client;
  int server;
};

void pump(const std::shared_ptr<Pipe>& pipe, int from, int to, std::chrono::milliseconds delay,
          const std::atomic<bool>& over) {
  char bytes[16384];
  while (!over) {
    pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 50) == 0) continue;
    const ssize_t got = read(from, bytes, sizeof bytes);
    if (got <= 0) break;
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t more =
          send(to, bytes + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
      if (more <= 0) break;
      sent += more;
    }
  }
  shutdown(pipe->client, SHUT_RDWR);
  shutdown(pipe->server, SHUT_RDWR);
}

}  // namespace

SlowLink::SlowLink(int to_port, std::chrono::milliseconds delay)
    : to_port_(to_port), delay_(delay), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || bind(listener_, generic, size) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("no socket for a slow link");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { serve(); });
}

SlowLink::~SlowLink() {
  over_ = true;
  acceptor_.join();
  for (std::thread& thread : pumps_) thread.join();
  close(listener_);
}

void SlowLink::serve() {
  while (!over_) {
    pollfd ready{.fd = listener_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 50) == 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto pipe = std::make_shared<Pipe>(client, server);
    sockaddr_in address = loopback(to_port_);
    if (connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) continue;
    const int on = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pumps_.emplace_back([=, this] { pump(pipe, client, server, {}, over_); });
    pumps_.emplace_back([=, this] { pump(pipe, server, client, delay_, over_); });
  }
}

}  // namespace holdfast::bench
