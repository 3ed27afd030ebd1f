// MariadbClient: a connection of a test's own to a MariaDB server, to ask it what it has.
//
// Thread safety: one thread at a time.
#pragma once

#include <string>
#include <vector>

struct st_mysql;

namespace holdfast::test {

class MariadbClient {
 public:
  // Throws std::runtime_error if there is no connection.
  MariadbClient(int port, const std::string& database = "", const std::string& user = "root",
                const std::string& password = "");
  ~MariadbClient();
  MariadbClient(const MariadbClient&) = delete;
  MariadbClient& operator=(const MariadbClient&) = delete;

  using Rows = std::vector<std::vector<std::string>>;  // NULL is "NULL"
  // Throws std::runtime_error with the server's words if it fails.
  Rows query(const std::string& sql);
  // The first cell of the first row; empty if there is none.
  std::string value(const std::string& sql);

 private:
  st_mysql* raw_;
};

}  // namespace holdfast::test
