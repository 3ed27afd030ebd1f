#include "raw_client.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <stdexcept>

namespace holdfast::zookeeper_tests {

RawClient::RawClient(int port, int timeout_ms)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{.tv_sec = 20, .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("no ZooKeeper at port " + std::to_string(port));
  }
  send(zk::encode(zk::Greeting{.timeout_ms = timeout_ms, .password = {}}));
  const auto welcome = zk::parse_welcome(receive());
  if (!welcome || welcome->session == 0) throw std::runtime_error("no session");
}

RawClient::~RawClient() {
  try {
    zk::Requests request;
    request.close_session();
    call(std::move(request));
  } catch (const std::runtime_error&) {
    // It ends by itself.
  }
  ::close(socket_);
}

void RawClient::send(const std::string& bytes) const {
  if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("ZooKeeper did not take it all");
  }
}

std::string RawClient::receive() const {
  const auto read_all = [this](std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t done = 0; done < size;) {
      const ssize_t part = ::recv(socket_, bytes.data() + done, size - done, 0);
      if (part <= 0) throw std::runtime_error("ZooKeeper said nothing more");
      done += static_cast<std::size_t>(part);
    }
    return bytes;
  };
  const std::string length = read_all(4);
  return read_all(static_cast<std::size_t>(zk::JuteReader(length).int32()));
}

void RawClient::log_in(const std::string& user_and_password) {
  send(zk::encode_login("digest", user_and_password));
  if (zk::parse_header(receive())->error != zk::Error::none) {
    throw std::runtime_error("the login was refused");
  }
}

zk::Reply RawClient::call(zk::Requests request) {
  const zk::Op op = request.ops().front();
  send(std::move(request).numbered(++xid_));
  for (;;) {
    const std::string packet = receive();
    const auto header = zk::parse_header(packet);
    if (header && header->xid == xid_) {
      return zk::parse_reply(op, header->error, header->record).value();
    }
  }
}

std::string RawClient::create(const std::string& path, const std::string& data, zk::CreateMode mode,
                              const zk::Access& access) {
  zk::Requests request;
  request.create(zk::Op::create2, path, data, access, mode);
  const zk::Reply reply = call(std::move(request));
  if (!reply.ok()) throw std::runtime_error(path + ": " + describe(reply.error));
  return reply.path;
}

zk::Error RawClient::remove(const std::string& path) {
  zk::Requests request;
  request.remove(path);
  return call(std::move(request)).error;
}

zk::Error RawClient::write(const std::string& path, const std::string& data) {
  zk::Requests request;
  request.set_data(path, data, -1);
  return call(std::move(request)).error;
}

zk::Reply RawClient::read(const std::string& path) {
  zk::Requests request;
  request.get_data(path, false);
  return call(std::move(request));
}

std::vector<std::string> RawClient::children(const std::string& path) {
  zk::Requests request;
  request.get_children(path, false);
  return call(std::move(request)).children;
}

void RawClient::remove_tree(const std::string& path) {
  for (const std::string& child : children(path)) remove_tree(path + '/' + child);
  remove(path);
}

}  // namespace holdfast::zookeeper_tests
