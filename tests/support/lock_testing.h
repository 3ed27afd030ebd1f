// Shared by the tests of all engines: names, patience, and the check that nothing is left behind.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "contract.h"
#include "holdfast/holdfast.h"
#include "proxy.h"

namespace holdfast::lock_testing {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::arrives;
using contract::Dice;
using contract::eventually;
using contract::in_thread;
using contract::outcome_of;
using contract::pause_for;
using contract::Pending;
using test::Direction;
using test::Proxy;
using test::ProxyMode;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A test that waits for the end of this ttl has failed.
inline constexpr LockOptions kLong{.ttl = 30s};

inline Client open(const std::string& url, ClientOptions options = {}) {
  return Client::open(url, std::move(options)).value();
}

// "granted", or "misconfigured: why".
template <class T>
std::string told(const Result<T>& result) {
  return result ? "granted" : std::string(code_name(result.code())) + ": " + result.message();
}

// The outcome of a single try at `url`.
inline std::string try_at(const std::string& url, const LockOptions& options = kLong) {
  Result<Client> client = Client::open(url);
  return client ? told(client->mutex("x", options).try_acquire()) : told(client);
}

inline Duration since(BootTime moment) { return BootClock::now() - moment; }

inline std::size_t waiters(Client& client, const Name& name) {
  const Result<LockInfo> info = client.inspect(name);
  return info ? info->waiters.size() : 0;
}
inline bool queue_reaches(Client& client, const Name& name, std::size_t count,
                          Duration patience = contract::kPatience) {
  return eventually([&] { return waiters(client, name) == count; }, patience);
}

// Somebody gets `name` within `patience`; no remains of a hold or a wait are in the way longer.
inline void expect_free_soon(Client& client, const Name& name, Duration patience = 10s) {
  const Result<Lease> lease = client.mutex(name, kLong).try_acquire_for(patience);
  EXPECT_EQ(told(lease), "granted") << name.display() << " is stranded";
}

// The token that everybody can see on `name`; 0 if nobody holds it.
inline std::uint64_t visible_token(Client& client, const Name& name) {
  const Result<LockInfo> info = client.inspect(name);
  return info && info->holders.size() == 1 ? info->holders.front().token.value() : 0;
}

// Keeps the warnings of a client.
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

}  // namespace holdfast::lock_testing
