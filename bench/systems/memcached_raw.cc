#include "memcached_raw.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

namespace holdfast::bench {

MemcachedRaw::MemcachedRaw(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    throw std::runtime_error("memcached cannot be reached");
  }
  const int yes = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

MemcachedRaw::~MemcachedRaw() { ::close(socket_); }

std::string_view MemcachedRaw::call(std::string_view command) {
  if (::send(socket_, command.data(), command.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(command.size())) {
    throw std::runtime_error("memcached did not take a command");
  }
  std::size_t size = 0;
  while (size == 0 || line_[size - 1] != '\n') {
    const ssize_t got = ::recv(socket_, line_ + size, sizeof line_ - size, 0);
    if (got <= 0) throw std::runtime_error("memcached did not answer");
    size += static_cast<std::size_t>(got);
  }
  return {line_, size};
}

bool MemcachedRaw::take(const std::string& name) {
  // 32 bytes, as a careful client's random id would have.
  const std::string_view answer =
      call("add " + name + " 0 30 32\r\n00112233445566778899aabbccddeeff\r\n");
  if (answer != "STORED\r\n" && answer != "NOT_STORED\r\n") {
    throw std::runtime_error("it was not added");
  }
  return answer == "STORED\r\n";
}

void MemcachedRaw::give(const std::string& name) {
  if (call("delete " + name + "\r\n") != "DELETED\r\n") throw std::runtime_error("not deleted");
}

void MemcachedRaw::pair(const std::string& name) {
  if (!take(name)) throw std::runtime_error("it was there already");
  give(name);
}

}  // namespace holdfast::bench
