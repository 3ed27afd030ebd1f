#include "collector.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "holdfast/text.h"
#include "secrets.h"

namespace holdfast::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The specific variable, else the general one.
std::string of_traces(const std::string& what) {
  const std::string own = variable(("OTEL_EXPORTER_OTLP_TRACES_" + what).c_str());
  return own.empty() ? variable(("OTEL_EXPORTER_OTLP_" + what).c_str()) : own;
}

class Socket {
 public:
  explicit Socket(const addrinfo& address)
      : descriptor_(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int descriptor() const { return descriptor_; }
  bool wait_for(short event, Clock::time_point until) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready{descriptor_, event, 0};
    return left > 0 && poll(&ready, 1, static_cast<int>(left)) == 1;
  }

 private:
  int descriptor_;
};

std::string error_text(int error) { return std::strerror(error); }

// Empty, or why not.
std::string reach(const Socket& socket, const addrinfo& address, Clock::time_point until) {
  if (socket.descriptor() < 0) return error_text(errno);
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return {};
  if (errno != EINPROGRESS) return error_text(errno);
  if (!socket.wait_for(POLLOUT, until)) return "it does not answer";
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? std::string() : error_text(error);
}

std::string talk(const Socket& socket, std::string_view request, Clock::time_point until) {
  while (!request.empty()) {
    const ssize_t sent = send(socket.descriptor(), request.data(), request.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      request.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN) {
      return error_text(errno);
    } else if (!socket.wait_for(POLLOUT, until)) {
      return "it does not read";
    }
  }
  std::string answer;
  constexpr std::string_view kBegin = "HTTP/1.1 200";
  while (answer.size() < kBegin.size()) {
    char bytes[64];
    if (!socket.wait_for(POLLIN, until)) return "it does not answer";
    const ssize_t got = recv(socket.descriptor(), bytes, sizeof bytes, 0);
    if (got <= 0) return "it closed the connection";
    answer.append(bytes, static_cast<std::size_t>(got));
  }
  if (answer.starts_with("HTTP/1.") && answer[9] == '2') return {};
  return "it answered " + answer.substr(0, kBegin.size());
}

std::string exchange(const Collector& collector, const std::string& request,
                     Clock::time_point until) {
  const addrinfo hints{.ai_flags = AI_ADDRCONFIG, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(collector.host.c_str(), collector.port.c_str(), &hints, &found);
      error != 0) {
    return gai_strerror(error);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, &freeaddrinfo);
  std::string why = "it has no address";
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const Socket socket(*each);
    why = reach(socket, *each, until);
    if (why.empty()) return talk(socket, request, until);
  }
  return why;
}

}  // namespace

Result<Collector> Collector::parse(const std::string& url, const std::string& what) {
  constexpr std::string_view kScheme = "http://";
  const std::string_view rest = std::string_view(url).substr(std::min(url.size(), kScheme.size()));
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  const bool plain = std::ranges::all_of(rest, [](char c) { return c > ' ' && c <= '~'; });
  const std::size_t bracket = authority.find(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  Collector collector;
  collector.host = authority.substr(0, colon);
  if (collector.host.starts_with('[') && collector.host.ends_with(']')) {
    collector.host = collector.host.substr(1, collector.host.size() - 2);
  }
  collector.port =
      colon == std::string_view::npos ? "4318" : std::string(authority.substr(colon + 1));
  collector.path = rest.substr(authority.size());
  if (collector.path.empty() || collector.path == "/") collector.path = "/v1/traces";
  const bool port = !collector.port.empty() && collector.port.size() <= 5 &&
                    collector.port.find_first_not_of("0123456789") == std::string::npos &&
                    std::stoi(collector.port) <= 65535;
  if (!url.starts_with(kScheme) || !plain || !port || collector.host.empty() ||
      collector.host.find_first_of("@[]") != std::string::npos ||
      !collector.path.starts_with('/')) {
    return Failure(Code::invalid_argument,
                   what +
                       " wants the http:// address of a collector without a login, such as "
                       "http://127.0.0.1:4318; not " +
                       quoted_word(redacted(url)));
  }
  return collector;
}

std::optional<Collector> Collector::from_environment(std::string& why) {
  if (variable("OTEL_SDK_DISABLED") == "true" || variable("OTEL_TRACES_EXPORTER") == "none")
    return std::nullopt;
  std::string url = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  if (url.empty()) {
    url = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (url.empty()) return std::nullopt;
    while (url.ends_with('/')) url.pop_back();
    url += "/v1/traces";
  }
  if (of_traces("PROTOCOL") == "grpc") {
    why = "only OTLP over HTTP is spoken here, and OTEL_EXPORTER_OTLP_PROTOCOL is grpc";
    return std::nullopt;
  }
  Result<Collector> collector = parse(url, "OTEL_EXPORTER_OTLP_ENDPOINT");
  if (collector) return *collector;
  why = collector.message();
  return std::nullopt;
}

std::string Collector::head(std::size_t body_bytes) const {
  const std::string shown = host.find(':') == std::string::npos ? host : '[' + host + ']';
  return "POST " + path + " HTTP/1.1\r\nHost: " + shown + ':' + port +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body_bytes) +
         "\r\nConnection: close\r\n\r\n";
}

std::string Collector::url() const {
  return "http://" + (host.find(':') == std::string::npos ? host : '[' + host + ']') + ':' + port +
         path;
}

std::string post(const Collector& collector, const std::string& json,
                 std::chrono::milliseconds patience) {
  // Outlasts this call where the name is still being looked up: nobody can end that.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<std::string> outcome;
  };
  const auto shared = std::make_shared<Shared>();
  const auto until = Clock::now() + patience;
  try {
    std::thread([shared, collector, request = collector.head(json.size()) + json, until] {
      std::string outcome = exchange(collector, request, until);
      const std::scoped_lock lock(shared->mutex);
      shared->outcome = std::move(outcome);
      shared->changed.notify_all();
    }).detach();
  } catch (const std::system_error& error) {
    return error.what();
  }
  std::unique_lock lock(shared->mutex);
  shared->changed.wait_until(lock, until, [&] { return shared->outcome.has_value(); });
  return shared->outcome.value_or("it does not answer");
}

}  // namespace holdfast::cli
