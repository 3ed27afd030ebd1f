// PgBouncer: a real one on a free port of 127.0.0.1, in front of a PostgreSQL server.
#pragma once

#include <memory>
#include <string>

#include "postgres_server.h"
#include "server_process.h"
#include "temp_dir.h"

namespace holdfast::test {

class PgBouncer {
 public:
  // `pool_mode`: "session" or "transaction". Returns when it takes connections.
  PgBouncer(const PostgresServer& server, const std::string& pool_mode);

  std::string url(const std::string& recipe) const {
    return "postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres?recipe=" + recipe;
  }

 private:
  TempDir directory_;
  int port_;
  std::unique_ptr<ServerProcess> process_;
};

}  // namespace holdfast::test
