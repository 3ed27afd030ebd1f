#include "http_get.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace holdfast::bench {

namespace {

class Socket {
 public:
  explicit Socket(int port) : number_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(number_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Socket() { close(number_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool connected() const { return connected_; }
  int number() const { return number_; }

 private:
  int number_;
  bool connected_ = false;
};

}  // namespace

std::string http_get(int port, const std::string& path) {
  const Socket socket(port);
  const std::string request =
      "GET " + path + " HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
  std::string answer;
  if (socket.connected() &&
      send(socket.number(), request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 1 << 14> bytes;
    while (true) {
      const ssize_t size = recv(socket.number(), bytes.data(), bytes.size(), 0);
      if (size <= 0) break;
      answer.append(bytes.data(), static_cast<std::size_t>(size));
    }
  }
  if (answer.empty()) throw std::runtime_error("no answer to GET " + path);
  return answer;
}

}  // namespace holdfast::bench
