// PostgresServer: a real PostgreSQL on a free port of 127.0.0.1 and a unix socket, in a temporary
// directory, with one database and a superuser, both called `postgres`.
//
// Thread safety: what is const, and query(), by any thread; of the others one at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "movable_clock.h"
#include "server_process.h"
#include "temp_dir.h"

namespace holdfast::test {

struct PostgresOptions {
  bool tls = false;      // with Certificates::shared(); plain is refused then
  std::string password;  // of the superuser; empty: none is asked for
  std::vector<std::string>
      arguments;               // of postgres ("-c", "max_connections=10"); they win over ours
  bool movable_clock = false;  // see clock()
  // Not 0: a copy of the server at this port of 127.0.0.1, which it follows until promote().
  int follows = 0;
  // Made by itself: its system identifier is not that of the others of this process.
  bool own_identity = false;
};

class PostgresServer {
 public:
  using Options = PostgresOptions;

  // Returns when it takes connections: after about 60 ms, the first of a process after 500.
  explicit PostgresServer(PostgresOptions options = {});
  ~PostgresServer();

  // "postgres://postgres@127.0.0.1:P/postgres", or with ":PW" or "?ca=FILE".
  std::string url() const { return url("postgres"); }
  std::string url(const std::string& user, const std::string& password = {}) const;
  int port() const { return port_; }
  const std::filesystem::path& directory() const { return directory_.path(); }
  pid_t pid() const { return process_->pid(); }  // another one after restart()
  std::string log() const { return process_->log(); }

  bool running() { return process_->running(); }
  // SIGKILL to all of it, as a power cut whose disk kept everything; returns when it is gone.
  void kill();
  void restart();  // kills it if it runs; same port and data; returns when it takes connections
  void pause();    // all its processes
  void resume();

  // From now on it takes writes. REQUIRES: PostgresOptions::follows.
  void promote() const { query("SELECT pg_promote()"); }

  // Its clock, which a restart does not set right. REQUIRES: PostgresOptions::movable_clock.
  MovableClock& clock() { return *clock_; }

  // The first cell of what the last statement returned, as text; empty if there is none. On a
  // connection of its own. Throws std::runtime_error with the server's message.
  std::string query(const std::string& statements) const;

 private:
  std::filesystem::path data() const { return directory_.path() / "data"; }
  std::vector<std::string> command_line() const;
  std::vector<pid_t> processes() const;
  void make_data() const;
  void start();
  void allow_logins() const;

  const PostgresOptions options_;
  TempDir directory_;
  int port_ = 0;
  std::unique_ptr<MovableClock> clock_;
  std::unique_ptr<ServerProcess> process_;
};

}  // namespace holdfast::test
