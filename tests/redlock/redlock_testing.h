// What the Redlock tests have in common: nodes whose insides a test can see and change.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "redis_masters.h"
#include "redis_testing.h"

namespace holdfast::redlock_tests {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::arrives;
using contract::eventually;
using contract::in_thread;
using contract::outcome_of;
using contract::pause_for;
using contract::Pending;
using redis_tests::expect_free_soon;
using redis_tests::kLong;
using redis_tests::open;
using redis_tests::since;
using redis_tests::told;
using redis_tests::visible_token;
using redis_tests::waiters;
using test::Direction;
using test::Proxy;
using test::ProxyMode;
using test::RedisMasters;
using test::RedisServer;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// What a node keeps of the lock "x", and of itself (docs/engines/redlock.md).
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

// What a client without anything else to say gets.
inline std::string try_at(const std::string& url) {
  Result<Client> client = Client::open(url);
  return client ? told(client->mutex("x", kLong).try_acquire()) : told(client);
}

class Listener : public Observer {
 public:
  void on_warning(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    warnings_.push_back(text);
  }
  std::vector<std::string> warnings() {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

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
