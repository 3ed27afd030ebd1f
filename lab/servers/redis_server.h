// RedisServer: a real Redis or Valkey (see product.h) on a free port of 127.0.0.1, in a temporary directory.
//
// Thread safety: what is const, and command() and commands_sent(), by any thread; of the others
// one at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "movable_clock.h"
#include "product.h"
#include "redis_connection.h"
#include "redis_monitor.h"
#include "server_process.h"
#include "temp_dir.h"

namespace holdfast::test {

struct RedisOptions {
  bool tls = false;          // with Certificates::shared(); a client's certificate is optional
  std::string password;      // it must need no escape in an URL
  bool unix_socket = false;  // besides the port
  std::vector<std::string> arguments;  // of redis-server; they win over ours
  int port = 0;                        // without TLS; 0: a free one
  int tls_port = 0;                    // 0: a free one
  bool durable = false;                // what was answered survives kill() (appendfsync always)
  bool movable_clock = false;          // see clock()
};

class RedisServer {
 public:
  using Options = RedisOptions;

  // Returns when it answers PING: after about 15 ms.
  explicit RedisServer(RedisOptions options = {});

  // "redis://127.0.0.1:P", "redis://:PW@127.0.0.1:P" or "rediss://127.0.0.1:P?ca=FILE".
  std::string url() const;
  int port() const { return options_.tls ? tls_port_ : plain_port_; }  // as in the url
  int plain_port() const { return plain_port_; }                       // without TLS
  std::string unix_path() const;                                       // empty without unix_socket
  const std::filesystem::path& directory() const { return directory_.path(); }
  pid_t pid() const { return process_->pid(); }  // another one after restart()
  std::string log() const { return process_->log(); }
  const Product& product() const { return product_; }

  bool running() { return process_->running(); }
  void kill();     // SIGKILL; returns when it is gone
  void restart();  // kills it if it runs; same ports and directory; returns when it answers
  void pause() { process_->pause(); }
  void resume() { process_->resume(); }

  // Its clock, which a restart does not set right. REQUIRES: RedisOptions::movable_clock.
  MovableClock& clock() { return *clock_; }

  // As RedisConnection::command(), on a connection of the test's own (plain TCP, in TLS mode too)
  // that is made anew after an error.
  std::string command(const std::vector<std::string>& words);

  // How many commands clients have sent since the first call, which returns 0. Not counted: what
  // scripts do by redis.call(), what went through command(), what Redis does not show to MONITOR
  // (administration such as CONFIG or CLIENT LIST, and what it rejects unexecuted: unknown names,
  // wrong number of arguments). MULTI, each command in it and EXEC count one each; so does an
  // EVALSHA that answers NOSCRIPT. Sentinels are clients as well. Across restart() the count goes
  // on, but what was sent between the last call and the death is lost.
  // From the first call on the server is slower by the cost of a MONITOR.
  long long commands_sent();

 private:
  void choose_ports();
  std::vector<std::string> command_line() const;
  void start();
  RedisConnection& connection();                            // REQUIRES: mutex_
  std::string send(const std::vector<std::string>& words);  // REQUIRES: mutex_

  const Product product_ = Product::of(ServerKind::redis);
  const RedisOptions options_;
  TempDir directory_;
  int plain_port_ = 0;
  int tls_port_ = 0;
  std::unique_ptr<MovableClock> clock_;
  std::unique_ptr<ServerProcess> process_;

  std::mutex mutex_;  // of all below
  std::unique_ptr<RedisConnection> connection_;
  std::set<std::string> own_addresses_;
  std::unique_ptr<RedisMonitor> monitor_;
  long long commands_ = 0;
  int markers_ = 0;
};

}  // namespace holdfast::test
