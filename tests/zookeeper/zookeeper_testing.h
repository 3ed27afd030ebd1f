// Shared by the tests of ZooKeeper: a server per process, and a chroot on it per test.
#pragma once

#include "lock_testing.h"
#include "raw_client.h"
#include "waiting.h"
#include "zookeeper_server.h"

namespace holdfast::zookeeper_tests {

using namespace lock_testing;  // NOLINT(google-build-using-namespace): test code
using test::ZooKeeperEnsemble;
using test::ZooKeeperServer;

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

}  // namespace holdfast::zookeeper_tests
