// What the ZooKeeper tests have in common: clients, servers that take long to start and are
// therefore shared, and what must be left behind: nothing.
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
#include "proxy.h"
#include "raw_client.h"
#include "waiting.h"
#include "zookeeper_server.h"

namespace holdfast::zookeeper_tests {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::arrives;
using contract::eventually;
using contract::in_thread;
using contract::outcome_of;
using contract::pause_for;
using contract::Pending;
using test::Direction;
using test::Proxy;
using test::ProxyMode;
using test::ZooKeeperEnsemble;
using test::ZooKeeperServer;
using testing::HasSubstr;
using testing::StartsWith;

inline constexpr LockOptions kLong{.ttl = 30s};

inline Client open(const std::string& url, ClientOptions options = {}) {
  return Client::open(url, std::move(options)).value();
}

// "granted", or "misconfigured: why".
template <class T>
std::string told(const Result<T>& result) {
  return result ? "granted" : std::string(code_name(result.code())) + ": " + result.message();
}

// One server for all the tests of this process that do not harm it; each has a chroot of its own.
inline ZooKeeperServer& shared_server() {
  static ZooKeeperServer server;
  return server;
}
inline std::string fresh_chroot() {
  static int count = 0;
  return "/test" + std::to_string(++count);
}

inline std::string url_of(int port, const std::string& rest = "") {
  return "zookeeper://127.0.0.1:" + std::to_string(port) + rest;
}

inline std::size_t waiters(Client& client, const Name& name) {
  const Result<LockInfo> info = client.inspect(name);
  return info ? info->waiters.size() : 0;
}
inline bool queue_reaches(Client& client, const Name& name, std::size_t count,
                          Duration patience = 30s) {
  return eventually([&] { return waiters(client, name) == count; }, patience);
}

// Somebody gets `name` within `patience`; nothing of anybody's stands in the way longer.
inline void expect_free_soon(Client& client, const Name& name, Duration patience = 20s) {
  const Result<Lease> lease = client.mutex(name, kLong).try_acquire_for(patience);
  EXPECT_EQ(told(lease), "granted") << name.display() << " is stranded";
}

}  // namespace holdfast::zookeeper_tests
