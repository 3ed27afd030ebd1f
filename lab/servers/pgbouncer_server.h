// PgbouncerServer: a real PgBouncer on a free port of 127.0.0.1, in front of a PostgreSQL, with the users `postgres` and
// `app` (whose passwords are the server's business).
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "server_process.h"
#include "temp_dir.h"

namespace holdfast::test {

struct PgbouncerOptions {
  std::string pool_mode = "transaction";
  int pool_size = 20;  // most connections to the server, for each user
};

class PgbouncerServer {
 public:
  // In front of the PostgreSQL at this port of 127.0.0.1. Returns when it takes connections.
  explicit PgbouncerServer(int upstream_port, PgbouncerOptions options = {});

  // "postgres://postgres@127.0.0.1:P/postgres"
  std::string url() const;
  int port() const { return port_; }
  std::string log() const { return process_->log(); }
  void pause() { process_->pause(); }
  void resume() { process_->resume(); }

 private:
  void write_settings(int upstream_port, const PgbouncerOptions& options) const;

  TempDir directory_;
  int port_ = 0;
  std::unique_ptr<ServerProcess> process_;
};

}  // namespace holdfast::test
