// What the MySQL tests have in common: a server, clients, impatience, and what must be left behind:
// nothing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "contract.h"
#include "holdfast/holdfast.h"
#include "mariadb_server.h"
#include "product.h"
#include "proxy.h"

namespace holdfast::mysql_tests {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::arrives;
using contract::eventually;
using contract::in_thread;
using contract::outcome_of;
using contract::pause_for;
using contract::Pending;
using test::MariadbClient;
using test::MariadbServer;
using test::Proxy;
using testing::HasSubstr;
using testing::StartsWith;

// "granted", or "misconfigured: why".
template <class T>
std::string told(const Result<T>& result) {
  return result ? "granted" : std::string(code_name(result.code())) + ": " + result.message();
}

// Whether the servers here are MySQL itself, and not MariaDB.
inline bool on_mysql() {
  static const bool mysql = test::Product::of(test::ServerKind::mysql).is("mysql");
  return mysql;
}

// Long enough that whoever waits for its end has failed.
inline constexpr LockOptions kLong{.ttl = 30s};

inline Client open(const std::string& url, ClientOptions options = {}) {
  return Client::open(url, std::move(options)).value();
}

inline std::string url_through(const Proxy& proxy, const std::string& recipe) {
  return "mysql://root@127.0.0.1:" + std::to_string(proxy.port()) + "/holdfast?recipe=" + recipe;
}

// How one who tries to lock at `url` fares.
inline std::string try_at(const std::string& url) {
  Result<Client> client = Client::open(url);
  if (!client) return told(client);
  return told(client->mutex("x", kLong).try_acquire());
}

// Somebody gets `name` within `patience`; nothing of anybody's stands in the way longer.
inline void expect_free_soon(Client& client, const Name& name, Duration patience = 10s) {
  const Result<Lease> lease = client.mutex(name, kLong).try_acquire_for(patience);
  EXPECT_EQ(told(lease), "granted") << name.display() << " is stranded";
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
