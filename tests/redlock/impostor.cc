#include "impostor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace holdfast::redlock_tests {

Impostor::Impostor(std::string answer) : answer_(std::move(answer)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || bind(listener_, plain, size) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, plain, &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "an impostor cannot listen");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { answer_all(stop); });
}

Impostor::~Impostor() {
  thread_.request_stop();
  thread_.join();
  close(listener_);
}

void Impostor::answer_all(const std::stop_token& stop) const {
  while (!stop.stop_requested()) {
    pollfd waiting{.fd = listener_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 20) <= 0) continue;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    std::array<char, 4096> ignored{};
    static_cast<void>(recv(connection, ignored.data(), ignored.size(), 0));
    static_cast<void>(send(connection, answer_.data(), answer_.size(), MSG_NOSIGNAL));
    close(connection);
  }
}

}  // namespace holdfast::redlock_tests
