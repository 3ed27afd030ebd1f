// Shared by the tests of Redis.
#pragma once

#include "lock_testing.h"
#include "redis_server.h"

namespace holdfast::redis_tests {

using namespace lock_testing;  // NOLINT(google-build-using-namespace): test code
using test::RedisOptions;
using test::RedisServer;

inline std::string url_of(const Proxy& proxy, const std::string& options = "") {
  return "redis://127.0.0.1:" + std::to_string(proxy.port()) + options;
}

}  // namespace holdfast::redis_tests
