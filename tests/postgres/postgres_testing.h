// Shared by the tests of PostgreSQL: a server per process, and a place on it per test.
#pragma once

#include "lock_testing.h"
#include "postgres_client.h"
#include "postgres_server.h"

namespace holdfast::postgres_tests {

using namespace lock_testing;  // NOLINT(google-build-using-namespace): test code
using test::PostgresServer;

inline PostgresServer& shared_server() {
  static PostgresServer server;
  return server;
}

inline std::string url_of(const Proxy& proxy, const std::string& options = "") {
  return "postgres://postgres@127.0.0.1:" + std::to_string(proxy.port()) + "/postgres" + options;
}

// How many statements of this form wait for a lock in the server.
inline std::string blocked(const PostgresServer& server, const std::string& form) {
  return server.query(
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '" +
      form + "'");
}

}  // namespace holdfast::postgres_tests
