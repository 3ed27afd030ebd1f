// Shared by the tests of memcached.
#pragma once

#include "lock_testing.h"
#include "memcached_server.h"

namespace holdfast::memcached_tests {

using namespace lock_testing;  // NOLINT(google-build-using-namespace): test code
using test::MemcachedServer;

inline std::string url_of(int port, const std::string& options = "") {
  return "memcached://127.0.0.1:" + std::to_string(port) + options;
}
inline std::string url_of(const Proxy& proxy, const std::string& options = "") {
  return url_of(proxy.port(), options);
}

// Whether there is an item under this key.
inline bool present(const MemcachedServer& server, const std::string& key) {
  return server.ask("mg " + key + " s\r\n").starts_with("HD");
}

}  // namespace holdfast::memcached_tests
