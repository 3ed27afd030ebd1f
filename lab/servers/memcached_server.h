// MemcachedServer: a real memcached on a free port of 127.0.0.1.
//
// Thread safety: what is const, by any thread; of the others one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "movable_clock.h"
#include "product.h"
#include "server_process.h"
#include "temp_dir.h"

namespace holdfast::test {

struct MemcachedOptions {
  bool unix_socket = false;            // instead of the port, as memcached has it
  std::vector<std::string> arguments;  // of memcached; they win over ours
  bool movable_clock = false;          // see clock()
};

class MemcachedServer {
 public:
  using Options = MemcachedOptions;

  // Returns when it answers.
  explicit MemcachedServer(MemcachedOptions options = {});

  std::string url() const;  // "memcached://127.0.0.1:P", or with "?socket=PATH"
  int port() const { return port_; }
  std::string unix_path() const;                 // empty without unix_socket
  pid_t pid() const { return process_->pid(); }  // another one after restart()
  std::string log() const { return process_->log(); }

  bool running() { return process_->running(); }
  void kill() { process_->kill(); }
  void restart();  // kills it if it runs; same port, and nothing in it; returns when it answers
  void pause() { process_->pause(); }
  void resume() { process_->resume(); }

  // Its clock, which a restart does not set right. REQUIRES: MemcachedOptions::movable_clock.
  MovableClock& clock() { return *clock_; }

  // Sends `bytes` on a connection of its own and returns all that comes until `end` has come (or
  // for two seconds).
  std::string ask(const std::string& bytes, const std::string& end = "\r\n") const;

 private:
  std::vector<std::string> command_line() const;
  void start();

  const Product product_ = Product::of(ServerKind::memcached);
  const MemcachedOptions options_;
  TempDir directory_;
  int port_ = 0;
  std::unique_ptr<MovableClock> clock_;
  std::unique_ptr<ServerProcess> process_;
};

}  // namespace holdfast::test
