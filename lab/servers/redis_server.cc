#include "redis_server.h"

#include <stdexcept>

#include "certificates.h"
#include "waiting.h"

namespace holdfast::test {

RedisServer::RedisServer(RedisOptions options) : options_(std::move(options)) {
  if (options_.movable_clock) {
    clock_ = std::make_unique<MovableClock>(directory_.path() / "clock");
  }
  for (int attempt = 1;; ++attempt) {
    choose_ports();
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

void RedisServer::choose_ports() {
  plain_port_ = options_.port != 0 ? options_.port : free_port();
  if (options_.tls) tls_port_ = options_.tls_port != 0 ? options_.tls_port : free_port();
}

std::vector<std::string> RedisServer::command_line() const {
  std::vector<std::string> words{product_.program(product_.name() + "-server")};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  add({"--port", std::to_string(plain_port_), "--bind", "127.0.0.1"});
  add({"--dir", directory_.path().string(), "--save", ""});
  add({"--appendonly", options_.durable ? "yes" : "no", "--appendfsync", "always"});
  add({"--enable-debug-command", "local"});
  if (options_.unix_socket) add({"--unixsocket", unix_path()});
  if (!options_.password.empty()) {
    add({"--requirepass", options_.password, "--masterauth", options_.password});
  }
  if (options_.tls) {
    const Certificates& certificates = Certificates::shared();
    add({"--tls-port", std::to_string(tls_port_), "--tls-auth-clients", "optional"});
    add({"--tls-ca-cert-file", certificates.ca()});
    add({"--tls-cert-file", certificates.server_certificate()});
    add({"--tls-key-file", certificates.server_key()});
  }
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  return words;
}

void RedisServer::start() {
  product_.report();
  process_ =
      std::make_unique<ServerProcess>(command_line(), directory_.path() / "log",
                                      clock_ ? clock_->environment() : std::vector<std::string>());
  wait_for("redis-server to answer",
           [this] { return !process_->running() || command({"PING"}) == "PONG"; });
  if (!process_->running()) throw std::runtime_error("redis-server has ended: " + log());
}

std::string RedisServer::url() const {
  const std::string user = options_.password.empty() ? "" : ":" + options_.password + "@";
  const std::string place = user + "127.0.0.1:" + std::to_string(port());
  return options_.tls ? "rediss://" + place + "?ca=" + Certificates::shared().ca()
                      : "redis://" + place;
}

std::string RedisServer::unix_path() const {
  return options_.unix_socket ? (directory_.path() / "redis.sock").string() : "";
}

void RedisServer::kill() {
  process_->kill();
  const std::lock_guard lock(mutex_);
  connection_.reset();
}

void RedisServer::restart() {
  kill();
  start();
  const std::lock_guard lock(mutex_);
  if (monitor_) monitor_ = std::make_unique<RedisMonitor>(plain_port_, options_.password);
}

RedisConnection& RedisServer::connection() {
  if (!connection_) {
    connection_ = std::make_unique<RedisConnection>(plain_port_, options_.password);
    own_addresses_.insert(connection_->address());
  }
  return *connection_;
}

std::string RedisServer::command(const std::vector<std::string>& words) {
  const std::lock_guard lock(mutex_);
  return send(words);
}

std::string RedisServer::send(const std::vector<std::string>& words) {
  try {
    return connection().command(words);
  } catch (const std::runtime_error&) {
    connection_.reset();
    throw;
  }
}

long long RedisServer::commands_sent() {
  const std::lock_guard lock(mutex_);
  if (!monitor_) {
    // A long time without a reader must not end the monitor's connection.
    send({"CONFIG", "SET", "client-output-buffer-limit", "replica 0 0 0"});
    monitor_ = std::make_unique<RedisMonitor>(plain_port_, options_.password);
    return commands_;
  }
  const std::string marker = "holdfast-test-" + std::to_string(++markers_);
  send({"ECHO", marker});
  commands_ += monitor_->count_until(marker, own_addresses_);
  return commands_;
}

}  // namespace holdfast::test
