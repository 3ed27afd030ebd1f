// What the memcached tests have in common: clients, impatience, and what must be left behind:
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
#include "memcached_server.h"
#include "proxy.h"

namespace holdfast::memcached_tests {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::arrives;
using contract::Dice;
using contract::eventually;
using contract::in_thread;
using contract::outcome_of;
using contract::pause_for;
using contract::Pending;
using test::Direction;
using test::MemcachedServer;
using test::Proxy;
using test::ProxyMode;
using testing::HasSubstr;
using testing::StartsWith;

// Long enough that whoever waits for its end has failed.
inline constexpr LockOptions kLong{.ttl = 30s};

inline Client open(const std::string& url, ClientOptions options = {}) {
  return Client::open(url, std::move(options)).value();
}

inline std::string url_of(int port, const std::string& options = "") {
  return "memcached://127.0.0.1:" + std::to_string(port) + options;
}
inline std::string url_of(const Proxy& proxy, const std::string& options = "") {
  return url_of(proxy.port(), options);
}

// "granted", or "misconfigured: why".
template <class T>
std::string told(const Result<T>& result) {
  return result ? "granted" : std::string(code_name(result.code())) + ": " + result.message();
}

inline Duration since(BootTime moment) { return BootClock::now() - moment; }

// Somebody gets `name` within `patience`; nothing of anybody's stands in the way longer.
inline void expect_free_soon(Client& client, const Name& name, Duration patience = 10s) {
  const Result<Lease> lease = client.mutex(name, kLong).try_acquire_for(patience);
  EXPECT_EQ(told(lease), "granted") << name.display() << " is stranded";
}

// The token that everybody can see on `name`; 0 if nobody holds it.
inline std::uint64_t visible_token(Client& client, const Name& name) {
  const Result<LockInfo> info = client.inspect(name);
  return info && info->holders.size() == 1 ? info->holders.front().token.value() : 0;
}

// Whether there is an item under this key.
inline bool present(const MemcachedServer& server, const std::string& key) {
  return server.ask("mg " + key + " s\r\n").starts_with("HD");
}

}  // namespace holdfast::memcached_tests
