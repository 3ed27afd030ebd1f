#include "zookeeper_raw.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "pass.h"

namespace holdfast::bench {

namespace {

constexpr std::int32_t kCreate = 1, kDelete = 2;
constexpr std::int32_t kPersistent = 0, kEphemeralSequential = 3;
constexpr std::int32_t kNodeExists = -110;
constexpr std::int32_t kSessionMs = 30'000;

template <class T>
void put(std::string& out, T value) {
  for (int shift = 8 * (sizeof(T) - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> shift));
  }
}
void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::int32_t>(text.size()));
  out.append(text);
}

std::int32_t int_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return static_cast<std::int32_t>(value);
}

}  // namespace

ZooKeeperRaw::ZooKeeperRaw(const std::string& host, int port) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("raw: cannot connect");
  }
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::string body;
  put(body, std::int32_t{0});  // protocol
  put(body, std::int64_t{0});  // last zxid seen
  put(body, kSessionMs);
  put(body, std::int64_t{0});  // a new session
  put_text(body, std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16));
  body.push_back('\0');  // not read-only
  put_text(unsent_, body);
  send();
  while (!has_reply()) fill();
  unread_.erase(0, 4 + static_cast<std::size_t>(int_at(unread_, 0)));
}

ZooKeeperRaw::~ZooKeeperRaw() { close(socket_); }

void ZooKeeperRaw::append_create(std::int32_t xid, const std::string& path, std::int32_t flags) {
  std::string body;
  put(body, xid);
  put(body, kCreate);
  put_text(body, path);
  put_text(body, std::string_view());  // no data
  put(body, std::int32_t{1});          // one entry of rights: everything for everybody
  put(body, std::int32_t{31});
  put_text(body, std::string_view("world"));
  put_text(body, std::string_view("anyone"));
  put(body, flags);
  put_text(unsent_, body);
}

void ZooKeeperRaw::append_delete(std::int32_t xid, const std::string& path) {
  std::string body;
  put(body, xid);
  put(body, kDelete);
  put_text(body, path);
  put(body, std::int32_t{-1});  // any version
  put_text(unsent_, body);
}

void ZooKeeperRaw::send() {
  std::string_view rest = unsent_;
  while (!rest.empty()) {
    const ssize_t size = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (size <= 0) throw std::runtime_error("raw: cannot send");
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  unsent_.clear();
}

bool ZooKeeperRaw::has_reply() const {
  return unread_.size() >= 4 && unread_.size() >= 4 + static_cast<std::size_t>(int_at(unread_, 0));
}

void ZooKeeperRaw::fill() {
  std::array<char, 1 << 16> bytes;
  const ssize_t size = recv(socket_, bytes.data(), bytes.size(), 0);
  if (size <= 0) throw std::runtime_error("raw: the server has closed the connection");
  unread_.append(bytes.data(), static_cast<std::size_t>(size));
}

// xid, zxid (8 bytes), error, and then what the request brought.
ZooKeeperRaw::Reply ZooKeeperRaw::receive() {
  while (!has_reply()) fill();
  constexpr std::size_t kHeader = 16;
  const auto size = static_cast<std::size_t>(int_at(unread_, 0));
  const std::string_view reply = std::string_view(unread_).substr(4, size);
  Reply result{.xid = int_at(reply, 0), .error = int_at(reply, 12), .body = ""};
  if (size > kHeader) result.body = reply.substr(kHeader + 4);  // one string, behind its length
  unread_.erase(0, 4 + size);
  return result;
}

void ZooKeeperRaw::prepare(const std::string& name) {
  append_create(1, "/" + name, kPersistent);
  send();
  const Reply reply = receive();
  if (reply.error != 0 && reply.error != kNodeExists) {
    throw std::runtime_error("raw: create: " + std::to_string(reply.error));
  }
}

void ZooKeeperRaw::pair(const std::string& name) {
  append_create(1, "/" + name + "/raw-lock-", kEphemeralSequential);
  send();
  const Reply made = receive();
  if (made.error != 0) throw std::runtime_error("raw: create: " + std::to_string(made.error));
  append_delete(2, made.body);
  send();
  if (receive().error != 0) throw std::runtime_error("raw: delete");
}

// All that has arrived is answered by one write.
double ZooKeeperRaw::flight(int count, double seconds) {
  const auto parent = [](std::int32_t number) { return "raw-" + std::to_string(number); };
  for (int i = 0; i < count; ++i) prepare(parent(i));
  const std::int64_t begin = monotonic_ns();
  const std::int64_t end = begin + static_cast<std::int64_t>(seconds * 1e9);
  std::int64_t now = begin;
  int pairs = 0;
  int flying = count;
  // An even xid is of a create, an odd one of a delete, both of the parent xid / 2.
  for (int i = 0; i < count; ++i)
    append_create(2 * i, "/" + parent(i) + "/raw-lock-", kEphemeralSequential);
  while (flying > 0) {
    send();
    do {
      const Reply reply = receive();
      if (reply.error != 0) throw std::runtime_error("raw: " + std::to_string(reply.error));
      const std::int32_t number = reply.xid / 2;
      if (reply.xid % 2 == 0) {
        append_delete(2 * number + 1, reply.body);
      } else {
        ++pairs;
        if (now < end) {
          append_create(2 * number, "/" + parent(number) + "/raw-lock-", kEphemeralSequential);
        } else {
          --flying;
        }
      }
    } while (has_reply());
    now = monotonic_ns();
  }
  return pairs / (static_cast<double>(now - begin) / 1e9);
}

}  // namespace holdfast::bench
