// MariadbServer: a real MariaDB or MySQL (see product.h) on a free port of 127.0.0.1, in a temporary directory, with an empty
// database `holdfast` and a user root without a password.
//
// Thread safety: what is const, by any thread; of the others one at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "mariadb_client.h"
#include "movable_clock.h"
#include "product.h"
#include "server_process.h"
#include "temp_dir.h"

namespace holdfast::test {

struct MariadbOptions {
  bool tls = false;                    // with Certificates::shared(); plain connections work too
  bool movable_clock = false;          // see clock()
  std::vector<std::string> arguments;  // of the server; they win over ours
};

class MariadbServer {
 public:
  using Options = MariadbOptions;

  // Returns when it answers. The first of a process takes some seconds longer: it makes the files
  // that the others copy.
  explicit MariadbServer(MariadbOptions options = {});

  // "mysql://root@127.0.0.1:P/holdfast?OPTIONS"
  std::string url(const std::string& options = "") const;
  int port() const { return port_; }
  std::string unix_path() const { return (directory_.path() / "s").string(); }
  std::filesystem::path data() const { return directory_.path() / "data"; }
  pid_t pid() const { return process_->pid(); }  // another one after restart()
  std::string log() const { return process_->log(); }
  const Product& product() const { return product_; }

  bool running() { return process_->running(); }
  void kill() { process_->kill(); }
  void restart();  // kills it if it runs; same port and data; returns when it answers
  void pause() { process_->pause(); }
  void resume() { process_->resume(); }

  // Follows a server, through this port of 127.0.0.1, from what that one has now until promote().
  // REQUIRES: both were started with "--log-bin" and a "--server-id=" of their own.
  void follow(const MariadbServer& leader, int port) const;
  void promote() const;

  // Its clock, which a restart does not set right. REQUIRES: MariadbOptions::movable_clock.
  MovableClock& clock() { return *clock_; }

  // On a connection of its own, as root.
  MariadbClient::Rows query(const std::string& sql) const;
  std::string value(const std::string& sql) const;

 private:
  std::vector<std::string> command_line() const;
  void start();

  const Product product_ = Product::of(ServerKind::mysql);
  const MariadbOptions options_;
  TempDir directory_;
  int port_ = 0;
  std::unique_ptr<MovableClock> clock_;
  std::unique_ptr<ServerProcess> process_;
};

}  // namespace holdfast::test
