// PostgresClient: a connection of a test's own to a PostgreSQL server, as its superuser.
//
// Thread safety: one thread at a time.
#pragma once

#include <string>

struct pg_conn;

namespace holdfast::test {

class PostgresClient {
 public:
  // Throws std::runtime_error if there is no connection.
  explicit PostgresClient(int port);
  ~PostgresClient();
  PostgresClient(const PostgresClient&) = delete;
  PostgresClient& operator=(const PostgresClient&) = delete;

  // The first cell of what the last statement returned, as text; empty if there is none. Throws
  // std::runtime_error with the server's message.
  std::string value(const std::string& statements);

 private:
  pg_conn* session_;
};

}  // namespace holdfast::test
