// SpanCollector: an OpenTelemetry collector in this process, on a free port of loopback: keeps what is posted to it.
// Thread safety: all of it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

// Sends `request` to a port of loopback, and returns all that is answered until the connection ends.
inline std::string talk_http(int port, const std::string& request) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<std::uint16_t>(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(socket, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char bytes[4096];
    for (ssize_t got = 0; (got = recv(socket, bytes, sizeof bytes, 0)) > 0;) {
      answer.append(bytes, static_cast<std::size_t>(got));
    }
  }
  close(socket);
  return answer;
}

class SpanCollector {
 public:
  // `status`: what it answers; 0: it accepts, and never answers.
  explicit SpanCollector(int status = 200) : status_(status) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        listen(listener_, 64) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~SpanCollector() {
    ending_ = true;
    thread_.join();
    close(listener_);
  }
  SpanCollector(const SpanCollector&) = delete;
  SpanCollector& operator=(const SpanCollector&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<std::string> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }
  // Of all requests; empty if one is no JSON.
  std::vector<nlohmann::json> spans() const {
    std::vector<nlohmann::json> all;
    for (const std::string& request : requests()) {
      const auto body =
          nlohmann::json::parse(request.substr(request.find("\r\n\r\n") + 4), nullptr, false);
      if (body.is_discarded()) return {};
      for (const auto& span : body["resourceSpans"][0]["scopeSpans"][0]["spans"])
        all.push_back(span);
    }
    return all;
  }

 private:
  bool readable(int descriptor) const {
    while (!ending_) {
      pollfd ready{descriptor, POLLIN, 0};
      if (poll(&ready, 1, 20) == 1) return true;
    }
    return false;
  }
  static bool is_whole(const std::string& request) {
    const std::size_t body = request.find("\r\n\r\n");
    const std::size_t length = request.find("Content-Length: ");
    return body != std::string::npos && length < body &&
           request.size() >= body + 4 + std::stoul(request.substr(length + 16));
  }
  void accept_all() {
    while (readable(listener_)) {
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      std::string request;
      while (!is_whole(request) && readable(socket)) {
        char bytes[4096];
        const ssize_t got = recv(socket, bytes, sizeof bytes, 0);
        if (got <= 0) break;
        request.append(bytes, static_cast<std::size_t>(got));
      }
      {
        const std::scoped_lock lock(mutex_);
        requests_.push_back(std::move(request));
      }
      const std::string answer = "HTTP/1.1 " + std::to_string(status_) +
                                 " X\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
      // Silent: until the peer has had enough.
      if (status_ == 0) static_cast<void>(readable(socket));
      if (status_ != 0) static_cast<void>(send(socket, answer.data(), answer.size(), MSG_NOSIGNAL));
      close(socket);
    }
  }

  const int status_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ending_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace holdfast::test
