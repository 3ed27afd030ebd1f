#include "pooling_proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

namespace holdfast::postgres_tests {

namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// One end of a conversation. Throws std::runtime_error when it is over.
class End {
 public:
  End(int socket, const std::atomic<bool>& over) : socket_(socket), over_(over) {}
  ~End() { close(socket_); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  std::string read(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t have = 0; have < size;) {
      pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, 20) == 0) {
        if (over_) throw std::runtime_error("over");
        continue;
      }
      const ssize_t got = recv(socket_, bytes.data() + have, size - have, 0);
      if (got <= 0) throw std::runtime_error("closed");
      have += static_cast<std::size_t>(got);
    }
    return bytes;
  }
  // One message: a type (unless it is the first), the length, and the rest.
  std::string message(bool typed = true) {
    std::string head = read(typed ? 5 : 4);
    std::uint32_t size = 0;
    for (std::size_t i = head.size() - 4; i < head.size(); ++i) {
      size = size << 8 | static_cast<unsigned char>(head[i]);
    }
    return head + read(size - 4);
  }
  // Messages up to and with one of these types.
  std::string until(const std::string& types) {
    std::string all;
    for (;;) {
      const std::string next = message();
      all += next;
      if (types.find(next[0]) != std::string::npos) return all;
    }
  }
  void write(const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t some = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (some <= 0) throw std::runtime_error("closed");
      sent += static_cast<std::size_t>(some);
    }
  }

 private:
  int socket_;
  const std::atomic<bool>& over_;
};

int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(socket);
    throw std::runtime_error("the server refuses");
  }
  return socket;
}

}  // namespace

PoolingProxy::PoolingProxy(int upstream_port) : upstream_port_(upstream_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 16) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no port for a proxy");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { listen(); });
}

PoolingProxy::~PoolingProxy() {
  over_ = true;
  thread_.join();
  for (std::thread& client : clients_) client.join();
  close(listener_);
}

void PoolingProxy::listen() {
  while (!over_) {
    pollfd ready{.fd = listener_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 20) <= 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) clients_.emplace_back([this, client] { serve(client); });
  }
}

void PoolingProxy::serve(int socket) {
  try {
    End client(socket, over_);
    std::string greeting = client.message(false);
    if (greeting.size() == 8) {  // It asks for TLS.
      client.write("N");
      greeting = client.message(false);
    }
    End first(connect_to(upstream_port_), over_);
    End second(connect_to(upstream_port_), over_);
    const std::array<End*, 2> backends{&first, &second};
    for (End* backend : backends) backend->write(greeting);
    client.write(first.until("ZE"));
    second.until("ZE");
    for (std::size_t turn = 0;; turn = 1 - turn) {
      // A transaction: as long as the backend says that it is inside one.
      for (char state = 'T'; state != 'I';) {
        const std::string request = client.until("SQX");
        backends.at(turn)->write(request);
        const std::string answer = backends.at(turn)->until("Z");
        client.write(answer);
        state = answer.back();
      }
    }
  } catch (const std::runtime_error&) {  // The end of a conversation.
  }
}

}  // namespace holdfast::postgres_tests
