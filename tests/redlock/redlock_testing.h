// Shared by the tests of Redlock: nodes whose insides a test can see and change.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "lock_testing.h"
#include "redis_masters.h"
#include "redis_server.h"

namespace holdfast::redlock_tests {

using namespace lock_testing;  // NOLINT(google-build-using-namespace): test code
using test::RedisMasters;
using test::RedisServer;
using testing::Contains;

// Keys of a node for the lock "x", and of itself (docs/engines/redlock.md).
inline constexpr const char* kWord = "x";
inline constexpr const char* kFence = "{x}:hf:r";
inline constexpr const char* kQueue = "{x}:hf:w";
inline constexpr const char* kMarker = "holdfast:redlock";

// Of an open node's marker.
inline std::string epoch_of(const std::string& marker) {
  return marker.substr(0, marker.find(' '));
}

inline std::string url_of(const std::vector<int>& ports, const std::string& rest = "",
                          const std::string& login = "") {
  std::string hosts;
  for (const int port : ports) {
    hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(port));
  }
  return "redlock://" + (login.empty() ? "" : login + "@") + hosts + rest;
}

// Independent masters, each behind a proxy of its own.
class ProxiedMasters {
 public:
  explicit ProxiedMasters(int count = 3) : masters_({.count = count}) {
    for (std::size_t i = 0; i < masters_.size(); ++i) {
      proxies_.push_back(std::make_unique<Proxy>(masters_.at(i).port()));
    }
  }

  std::string url(const std::string& rest = "") const {
    std::vector<int> ports;
    for (const auto& proxy : proxies_) ports.push_back(proxy->port());
    return url_of(ports, rest);
  }
  RedisMasters& masters() { return masters_; }
  RedisServer& at(std::size_t index) { return masters_.at(index); }
  Proxy& proxy(std::size_t index) { return *proxies_.at(index); }

 private:
  RedisMasters masters_;
  std::vector<std::unique_ptr<Proxy>> proxies_;
};

// Three masters that have voted before, and a client of each kind.
class RedlockOfThree : public testing::Test {
 protected:
  void SetUp() override {
    for (Client* client : {&client_, &other_}) {
      Result<Lease> lease = client->mutex("warm", kLong).try_acquire();
      ASSERT_EQ(told(lease), "granted");
      ASSERT_EQ(told(lease->release()), "granted");
      ASSERT_TRUE(eventually([&] { return nodes_with("warm") == 0; }));
    }
  }

  RedisServer& at(std::size_t index) { return masters_.at(index); }
  std::string marker(std::size_t index) { return at(index).command({"GET", kMarker}); }
  // At how many nodes the key is.
  std::size_t nodes_with(const std::string& key) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < masters_.size(); ++i) {
      if (at(i).command({"EXISTS", key}) == "1") ++count;
    }
    return count;
  }
  void at_all(const std::vector<std::string>& command) {
    for (std::size_t i = 0; i < masters_.size(); ++i) at(i).command(command);
  }

  RedisMasters masters_{{.count = 3}};
  Client client_ = open(masters_.url());
  Client other_ = open(masters_.url());
};

}  // namespace holdfast::redlock_tests
