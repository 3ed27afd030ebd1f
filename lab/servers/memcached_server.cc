#include "memcached_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "waiting.h"

namespace holdfast::test {

MemcachedServer::MemcachedServer(MemcachedOptions options) : options_(std::move(options)) {
  // Any user must be able to make the socket here.
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::all);
  if (options_.movable_clock) {
    clock_ = std::make_unique<MovableClock>(directory_.path() / "clock");
    // It is read by whoever memcached is then.
    std::filesystem::permissions(directory_.path() / "clock", std::filesystem::perms(0644));
  }
  for (int attempt = 1;; ++attempt) {
    port_ = options_.unix_socket ? 0 : free_port();
    try {
      start();
      return;
    } catch (const std::runtime_error&) {
      // Somebody else on this machine was faster.
      const bool taken = log().find("Address already in use") != std::string::npos;
      if (!taken || attempt == 5) throw;
      std::filesystem::remove(directory_.path() / "log");
    }
  }
}

std::vector<std::string> MemcachedServer::command_line() const {
  std::vector<std::string> words;
  if (geteuid() == 0) {
    // memcached refuses to be root, and the kernel forgets to end it with the test when it changes
    // its user by itself.
    words = {find_program("setpriv", "util-linux"),
             "--pdeathsig",
             "KILL",
             "--reuid=nobody",
             "--regid=nogroup",
             "--clear-groups"};
  }
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  add({product_.program("memcached"), "-m", "64", "-U", "0", "-t", "2"});
  if (options_.unix_socket) {
    add({"-s", unix_path(), "-a", "0777"});
  } else {
    add({"-l", "127.0.0.1", "-p", std::to_string(port_)});
  }
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  return words;
}

void MemcachedServer::start() {
  product_.report();
  process_ =
      std::make_unique<ServerProcess>(command_line(), directory_.path() / "log",
                                      clock_ ? clock_->environment() : std::vector<std::string>());
  wait_for("memcached to answer", [this] {
    if (!process_->running()) return true;
    try {
      return !ask("version\r\n").empty();
    } catch (const std::runtime_error&) {
      return false;
    }
  });
  if (!process_->running()) throw std::runtime_error("memcached has ended: " + log());
}

void MemcachedServer::restart() {
  process_->kill();
  start();
}

std::string MemcachedServer::url() const {
  if (options_.unix_socket) return "memcached://localhost?socket=" + unix_path();
  return "memcached://127.0.0.1:" + std::to_string(port_);
}

std::string MemcachedServer::unix_path() const {
  return options_.unix_socket ? (directory_.path() / "memcached.sock").string() : "";
}

std::string MemcachedServer::ask(const std::string& bytes, const std::string& end) const {
  const bool local = options_.unix_socket;
  const int socket = ::socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const std::unique_ptr<const int, void (*)(const int*)> closer(
      &socket, [](const int* descriptor) { ::close(*descriptor); });
  int connected = -1;
  if (local) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    unix_path().copy(address.sun_path, sizeof address.sun_path - 1);
    connected = ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected = ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  if (connected != 0) throw std::runtime_error(std::string("memcached: ") + strerror(errno));
  if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("memcached did not take it all");
  }
  std::string answer;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (!answer.ends_with(end) && std::chrono::steady_clock::now() < limit) {
    pollfd ready{.fd = socket, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 100) <= 0) continue;
    std::array<char, 4096> part{};
    const ssize_t size = ::recv(socket, part.data(), part.size(), 0);
    if (size <= 0) break;
    answer.append(part.data(), static_cast<std::size_t>(size));
  }
  return answer;
}

}  // namespace holdfast::test
