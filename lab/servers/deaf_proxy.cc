#include "deaf_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <list>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<std::uint8_t>(byte);
  return number;
}

// The size of the packet that `bytes` begin with; 0: not enough of it is there.
std::size_t packet_size(std::string_view bytes, DeafProxy::Protocol protocol) {
  const bool zookeeper = protocol == DeafProxy::Protocol::zookeeper;
  const std::size_t head = zookeeper ? 4 : 9;
  if (bytes.size() < head) return 0;
  const std::size_t size = head + big_endian(bytes.substr(0, zookeeper ? 4 : 3));
  return bytes.size() < size ? 0 : size;
}

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Protocol Buffers: the next number, and moves on behind it.
std::uint64_t varint(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (int shift = 0; !bytes.empty() && shift < 64; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) break;
  }
  return number;
}

}  // namespace

// The header of a reply begins with the number of the request; -1 is an event.
bool is_zookeeper_event(std::string_view packet) {
  return packet.size() >= 4 && big_endian(packet.substr(0, 4)) == 0xffffffffU;
}

// Of all answers of etcd's only those of watches have a field 11 (their events).
bool is_etcd_watch_event(std::string_view frame) {
  constexpr std::size_t kHead = 9;
  constexpr std::size_t kGrpcHead = 5;
  constexpr char kData = 0;
  if (frame.size() < kHead + kGrpcHead || frame[3] != kData) return false;
  std::string_view message = frame.substr(kHead + kGrpcHead);
  while (!message.empty()) {
    const std::uint64_t tag = varint(message);
    if (tag >> 3 == 11) return true;
    switch (tag & 7) {
      case 0: varint(message); break;
      case 2: {
        const std::uint64_t size = varint(message);
        if (size > message.size()) return false;
        message.remove_prefix(size);
        break;
      }
      default: return false;
    }
  }
  return false;
}

struct DeafProxy::Link {
  Link(int client_socket, int server_socket) : client(client_socket), server(server_socket) {}
  ~Link() {
    ::close(client);
    ::close(server);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  const int client;
  const int server;
  std::string from_server;  // the beginning of a packet
};

DeafProxy::DeafProxy(int upstream_port, Protocol protocol)
    : upstream_port_(upstream_port),
      protocol_(protocol),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, plain, size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, plain, &size) != 0) {
    ::close(listener_);
    throw std::runtime_error("DeafProxy: no port");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

DeafProxy::~DeafProxy() {
  over_ = true;
  thread_.join();
  ::close(listener_);
}

void DeafProxy::serve() {
  std::list<Link> links;
  while (!over_) {
    std::vector<pollfd> polled{{listener_, POLLIN, 0}};
    for (const Link& link : links) {
      polled.push_back({link.client, POLLIN, 0});
      polled.push_back({link.server, POLLIN, 0});
    }
    constexpr int kMilliseconds = 50;
    if (::poll(polled.data(), polled.size(), kMilliseconds) <= 0) continue;
    std::size_t at = 1;
    for (auto link = links.begin(); link != links.end(); at += 2) {
      char buffer[16384];
      bool lives = true;
      if (polled[at].revents != 0) {
        const ssize_t size = ::recv(link->client, buffer, sizeof buffer, 0);
        lives = size > 0 && send_all(link->server, {buffer, static_cast<std::size_t>(size)});
      }
      if (lives && polled[at + 1].revents != 0) {
        const ssize_t size = ::recv(link->server, buffer, sizeof buffer, 0);
        if (size > 0) link->from_server.append(buffer, static_cast<std::size_t>(size));
        lives = size > 0 && pass_on(*link);
      }
      link = lives ? std::next(link) : links.erase(link);
    }
    if (polled[0].revents == 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int one = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ::setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    const sockaddr_in address = loopback(upstream_port_);
    links.emplace_back(client, server);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      links.pop_back();
    }
  }
}

bool DeafProxy::pass_on(Link& link) {
  std::string& bytes = link.from_server;
  while (const std::size_t size = packet_size(bytes, protocol_)) {
    const std::string_view packet(bytes.data(), size);
    const bool news = protocol_ == Protocol::zookeeper ? is_zookeeper_event(packet.substr(4))
                                                       : is_etcd_watch_event(packet);
    if (news && deaf_) {
      ++swallowed_;
    } else if (!send_all(link.client, packet)) {
      return false;
    }
    bytes.erase(0, size);
  }
  return true;
}

}  // namespace holdfast::test
