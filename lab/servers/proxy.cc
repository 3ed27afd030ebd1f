#include "proxy.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <future>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "proxy_connection.h"
#include "server_process.h"

namespace holdfast::test {
namespace {

using Clock = ProxyConnection::Clock;

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Where a server is: the first address of its name.
struct Upstream {
  sockaddr_storage address{};
  socklen_t size = 0;
  int family() const { return address.ss_family; }
};

Upstream on_loopback(int port) {
  const sockaddr_in address = loopback(port);
  Upstream result{.size = sizeof address};
  std::memcpy(&result.address, &address, sizeof address);
  return result;
}

Upstream look_up(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) throw std::runtime_error("'" + host + "': " + gai_strerror(error));
  Upstream result{.size = found->ai_addrlen};
  std::memcpy(&result.address, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return result;
}

int new_socket(int family = AF_INET) {
  return checked(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket");
}

void send_at_once(int socket) {
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace

// The thread owns all state; the methods of Proxy send it tasks and wait for their end.
class Proxy::Loop {
 public:
  explicit Loop(const Upstream& upstream) : upstream_(upstream), listener_(new_socket()) {
    wake_ = checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
    const int yes = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    // Somebody else on this machine may be faster.
    int bound = -1;
    for (int attempt = 1; bound != 0 && attempt <= 5; ++attempt) {
      port_ = free_port();
      const sockaddr_in address = loopback(port_);
      bound = bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
    checked(bound, "bind");
    listen_again();
    thread_ = std::thread([this] { run(); });
  }

  ~Loop() {
    call([this] { stopping_ = true; });
    thread_.join();
    connections_.clear();
    close(listener_);
    close(wake_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void call(std::function<void()> function) {
    std::packaged_task<void()> task(std::move(function));
    std::future<void> done = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    eventfd_write(wake_, 1);
    done.get();
  }

  int port() const { return port_; }

  // Only in tasks:
  ProxyLane& lane(Direction direction) { return lanes_[static_cast<std::size_t>(direction)]; }
  std::vector<std::unique_ptr<ProxyConnection>>& connections() { return connections_; }
  std::int64_t accepted() const { return accepted_; }
  void set_silent(bool silent) { silent_ = silent; }
  void set_upstream(const Upstream& upstream) { upstream_ = upstream; }
  void listen_again() {
    checked(listen(listener_, 128), "listen");
    listening_ = true;
  }
  // Resets who waits in the backlog, and keeps the port ours.
  void stop_listening() {
    if (listening_) shutdown(listener_, SHUT_RD);
    listening_ = false;
  }

 private:
  void run() {
    for (;;) {
      accept_all();
      run_tasks();
      if (stopping_) return;
      std::vector<pollfd> ready{{wake_, POLLIN, 0},
                                {listening_ && !silent_ ? listener_ : -1, POLLIN, 0}};
      const Clock::time_point now = Clock::now();
      for (const auto& connection : connections_) {
        const auto wishes = connection->wishes(lanes_, now);
        ready.insert(ready.end(), wishes.begin(), wishes.end());
      }
      poll(ready.data(), ready.size(), timeout_ms(now));
      const pollfd* next = ready.data() + 2;
      std::erase_if(connections_, [&](const auto& connection) {
        return !connection->move_bytes(lanes_, std::exchange(next, next + 2), Clock::now());
      });
    }
  }

  void accept_all() {
    while (!silent_) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (client < 0) return;
      ++accepted_;
      const int server = new_socket(upstream_.family());
      send_at_once(client);
      send_at_once(server);
      const bool refused = connect(server, reinterpret_cast<const sockaddr*>(&upstream_.address),
                                   upstream_.size) != 0 &&
                           errno != EINPROGRESS;
      connections_.push_back(std::make_unique<ProxyConnection>(client, server));
      if (!refused) continue;
      connections_.back()->abort();
      connections_.pop_back();
    }
  }

  void run_tasks() {
    eventfd_t ignored = 0;
    eventfd_read(wake_, &ignored);
    std::vector<std::packaged_task<void()>> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
    }
    for (auto& task : tasks) task();
  }

  int timeout_ms(Clock::time_point now) const {
    Clock::time_point end = now + std::chrono::hours(1);
    for (const auto& connection : connections_) {
      end = std::min(end, connection->next_delivery(lanes_, now));
    }
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(end - now).count());
  }

  Upstream upstream_;
  int port_ = 0;
  const int listener_;
  int wake_ = -1;
  ProxyLanes lanes_;  // by Direction
  std::vector<std::unique_ptr<ProxyConnection>> connections_;
  std::int64_t accepted_ = 0;
  bool listening_ = false;
  bool silent_ = false;
  bool stopping_ = false;
  std::mutex mutex_;
  std::vector<std::packaged_task<void()>> tasks_;  // guarded by mutex_
  std::thread thread_;
};

Proxy::Proxy(int upstream_port) : loop_(std::make_unique<Loop>(on_loopback(upstream_port))) {}
Proxy::Proxy(const std::string& host, int upstream_port)
    : loop_(std::make_unique<Loop>(look_up(host, upstream_port))) {}
Proxy::~Proxy() = default;

int Proxy::port() const { return loop_->port(); }

void Proxy::set(Direction direction, ProxyMode mode, std::chrono::milliseconds delay) {
  loop_->call([&] {
    loop_->lane(direction).rule = {mode, delay};
    if (mode != ProxyMode::drop) return;
    for (auto& connection : loop_->connections()) connection->pipe(direction).drop_waiting();
  });
}

void Proxy::alter(Direction direction, std::function<void(std::string&)> change) {
  loop_->call([&] { loop_->lane(direction).change = std::move(change); });
}

void Proxy::set_both(ProxyMode mode, std::chrono::milliseconds delay) {
  set(Direction::to_server, mode, delay);
  set(Direction::to_client, mode, delay);
}

void Proxy::reset() {
  loop_->call([&] {
    for (auto& connection : loop_->connections()) connection->abort();
    loop_->connections().clear();
  });
}

void Proxy::refuse(bool refused) {
  loop_->call([&] { refused ? loop_->stop_listening() : loop_->listen_again(); });
}

void Proxy::cut() {
  loop_->call([&] {
    for (auto& connection : loop_->connections()) connection->cut();
  });
}

void Proxy::silence(bool silent) {
  set_both(silent ? ProxyMode::hold : ProxyMode::pass);
  loop_->call([&] { loop_->set_silent(silent); });
}

void Proxy::lead_to(int upstream_port) {
  loop_->call([&] { loop_->set_upstream(on_loopback(upstream_port)); });
  reset();
}

void Proxy::inject(const std::string& bytes) {
  loop_->call([&] {
    for (auto& connection : loop_->connections()) {
      connection->pipe(Direction::to_client).put_first(bytes);
    }
  });
}

int Proxy::connections() const {
  int count = 0;
  loop_->call([&] { count = static_cast<int>(loop_->connections().size()); });
  return count;
}

std::int64_t Proxy::accepted() const {
  std::int64_t count = 0;
  loop_->call([&] { count = loop_->accepted(); });
  return count;
}

std::int64_t Proxy::received(Direction direction) const {
  std::int64_t count = 0;
  loop_->call([&] { count = loop_->lane(direction).received; });
  return count;
}

std::int64_t Proxy::delivered(Direction direction) const {
  std::int64_t count = 0;
  loop_->call([&] { count = loop_->lane(direction).delivered; });
  return count;
}

}  // namespace holdfast::test
