// Shared by the tests of MySQL and MariaDB: a server per process, and the recipes that live in a session.
#pragma once

#include "lock_testing.h"
#include "mariadb_server.h"
#include "product.h"

namespace holdfast::mysql_tests {

using namespace lock_testing;  // NOLINT(google-build-using-namespace): test code
using test::MariadbClient;
using test::MariadbServer;

// Whether the servers here are MySQL itself, and not MariaDB.
inline bool on_mysql() {
  static const bool mysql = test::Product::of(test::ServerKind::mysql).is("mysql");
  return mysql;
}

inline std::string url_through(const Proxy& proxy, const std::string& recipe) {
  return "mysql://root@127.0.0.1:" + std::to_string(proxy.port()) + "/holdfast?recipe=" + recipe;
}

class MysqlTest : public testing::Test {
 protected:
  // One for all tests that leave it as they found it.
  static MariadbServer& server() {
    static MariadbServer shared;
    return shared;
  }
};

// The recipes whose locks live in a session.
class SessionTest : public MysqlTest, public testing::WithParamInterface<std::string> {
 protected:
  std::string recipe() const { return GetParam(); }
  std::string url(const std::string& options = "") const { return url_on(server(), options); }
  std::string url_on(const MariadbServer& where, const std::string& options = "") const {
    return where.url("recipe=" + recipe() + (options.empty() ? "" : "&" + options));
  }
  // The server's number of the session that holds `name`.
  std::string session_of(const std::string& name) const {
    return server().value(
        "SELECT connection & 4294967295 FROM holdfast.holdfast_tokens WHERE name = '" + name +
        "' AND IS_USED_LOCK(SUBSTRING_INDEX(lock_name, '#', 1)) = connection & 4294967295");
  }
  // How many sessions wait in the server.
  static std::string waiting_sessions() {
    return server().value(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '/* holdfast%'");
  }
};

#define HOLDFAST_SESSION_TESTS(Suite)                                     \
  class Suite : public SessionTest {};                                    \
  INSTANTIATE_TEST_SUITE_P(Mysql, Suite, testing::Values("named", "row"), \
                           [](const auto& recipe) { return recipe.param; })

}  // namespace holdfast::mysql_tests
