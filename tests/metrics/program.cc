// metrics_program URL: a program of the library with traffic on a few locks, and its metrics on a free port of
// loopback, which it prints. Ends with its standard input.
#include <arpa/inet.h>
#include <holdfast/holdfast.h>
#include <holdfast/metrics.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

std::atomic<bool> stopping = false;

// Four of them: always somebody waits.
void contend(holdfast::Client& client) {
  auto mutex = client.mutex("contended", {.ttl = 2s});
  while (!stopping) {
    const auto lease = mutex.try_acquire_for(2s);
    std::this_thread::sleep_for(lease ? 20ms : 50ms);
  }
}

// Keeps a lock until it is taken away, or its server is gone.
void keep(holdfast::Client& client) {
  auto mutex = client.mutex("kept", {.ttl = 1500ms});
  while (!stopping) {
    const auto lease = mutex.try_acquire_for(2s);
    while (!stopping && lease && !lease->lost().stop_requested()) std::this_thread::sleep_for(20ms);
    std::this_thread::sleep_for(50ms);
  }
}

void try_and_read(holdfast::Client& client) {
  auto mutex = client.mutex("kept", {.ttl = 2s});
  auto catalogue = client.shared_mutex("catalogue", {.ttl = 2s});
  while (!stopping) {
    const auto busy = mutex.try_acquire();
    const auto shared = catalogue.try_acquire_shared();
    std::this_thread::sleep_for(100ms);
  }
}

int listen_on_a_free_port(int socket) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(socket, 16) != 0 ||
      getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

// Answers every request with the page; enough of HTTP for Prometheus.
void answer(int peer, const holdfast::Metrics& metrics) {
  std::string request;
  char bytes[4096];
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = recv(peer, bytes, sizeof bytes, 0);
    if (got <= 0) break;
    request.append(bytes, static_cast<std::size_t>(got));
  }
  const std::string page = metrics.text();
  const std::string response =
      std::string("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: ") +
      holdfast::Metrics::kContentType + "\r\nContent-Length: " + std::to_string(page.size()) +
      "\r\n\r\n" + page;
  for (std::size_t at = 0; at < response.size();) {
    const ssize_t sent = send(peer, response.data() + at, response.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) break;
    at += static_cast<std::size_t>(sent);
  }
  close(peer);
}

}  // namespace

int main(int, char** arguments) {
  holdfast::Metrics metrics;
  auto client = holdfast::Client::open(arguments[1], {.observer = metrics.observer("redis")});
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int port = listen_on_a_free_port(listener);
  if (!client || port == 0) return 1;
  std::printf("%d\n", port);
  std::fflush(stdout);
  std::thread([&] {
    for (int peer; (peer = accept(listener, nullptr, nullptr)) >= 0;) answer(peer, metrics);
  }).detach();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(contend, std::ref(*client));
  threads.emplace_back(keep, std::ref(*client));
  threads.emplace_back(try_and_read, std::ref(*client));
  while (std::getchar() != EOF) {
  }
  stopping = true;
  threads.clear();
  std::_Exit(0);  // the detached thread still uses the metrics
}
