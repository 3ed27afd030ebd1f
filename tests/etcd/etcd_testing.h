// What the etcd tests have in common: clients, impatience, and what must be left behind: nothing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "contract.h"
#include "etcd_server.h"
#include "holdfast/holdfast.h"
#include "proxy.h"
#include "waiting.h"

namespace holdfast::etcd_tests {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::arrives;
using contract::eventually;
using contract::in_thread;
using contract::outcome_of;
using contract::pause_for;
using contract::Pending;
using test::Direction;
using test::EtcdServer;
using test::Proxy;
using test::ProxyMode;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

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

inline Duration since(BootTime moment) { return BootClock::now() - moment; }

// Somebody gets `name` within `patience`; nothing of anybody's stands in the way longer.
inline void expect_free_soon(Client& client, const Name& name, Duration patience = 10s) {
  const Result<Lease> lease = client.mutex(name, kLong).try_acquire_for(patience);
  EXPECT_EQ(told(lease), "granted") << name.display() << " is stranded";
}

inline std::size_t waiters(Client& client, const Name& name) {
  const Result<LockInfo> info = client.inspect(name);
  return info ? info->waiters.size() : 0;
}

}  // namespace holdfast::etcd_tests
