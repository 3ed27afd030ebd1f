// What the PostgreSQL tests have in common: a server per process, and a place on it per test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "contract.h"
#include "holdfast/holdfast.h"
#include "postgres_client.h"
#include "postgres_server.h"
#include "proxy.h"

namespace holdfast::postgres_tests {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::arrives;
using contract::eventually;
using contract::in_thread;
using contract::outcome_of;
using contract::pause_for;
using contract::Pending;
using test::Direction;
using test::PostgresServer;
using test::Proxy;
using test::ProxyMode;
using testing::HasSubstr;

// Long enough that whoever waits for its end has failed.
inline constexpr LockOptions kLong{.ttl = 30s};

inline Client open(const std::string& url, ClientOptions options = {}) {
  return Client::open(url, std::move(options)).value();
}

// "granted", or "misconfigured: why".
template <class T>
std::string told(const Result<T>& result) {
  return result ? "granted" : std::string(code_name(result.code())) + ": " + result.message();
}

inline PostgresServer& shared_server() {
  static PostgresServer server;
  return server;
}

inline std::string url_of(const Proxy& proxy, const std::string& options = "") {
  return "postgres://postgres@127.0.0.1:" + std::to_string(proxy.port()) + "/postgres" + options;
}

// How many wait for `name`, as everybody can see.
inline std::size_t waiters(Client& client, const Name& name) {
  const Result<LockInfo> info = client.inspect(name);
  return info ? info->waiters.size() : 0;
}

// How many statements of this form wait for a lock in the server.
inline std::string blocked(const PostgresServer& server, const std::string& form) {
  return server.query(
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '" +
      form + "'");
}

}  // namespace holdfast::postgres_tests
