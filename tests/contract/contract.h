// The base of all contract tests: a client factory on the engine under test, patience, children.
//
// A test file says `HOLDFAST_CONTRACT(Waiting)` and then TEST_P(Waiting, ...), and its tests run on
// every registered engine.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "engines.h"
#include "holdfast/holdfast.h"

namespace holdfast::contract {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

// Longer than anything that goes right takes on a busy machine under a sanitizer. A limit for
// failures only: no test waits for it when all is well.
inline constexpr Duration kPatience = std::chrono::seconds(20);

// True as soon as `condition` holds; false if it does not within kPatience.
bool eventually(const std::function<bool()>& condition, Duration patience = kPatience);

inline void pause_for(Duration span) { std::this_thread::sleep_for(span); }

// A seeded source for one test. The seed is printed when the test fails; HOLDFAST_SEED replays it.
class Dice {
 public:
  Dice();
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  std::string describe() const { return "HOLDFAST_SEED=" + std::to_string(seed_); }

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

class ContractTest : public testing::TestWithParam<EngineUnderTest> {
 protected:
  void SetUp() override { place_ = engine().start(); }

  const EngineUnderTest& engine() const { return GetParam(); }
  std::string url() const { return place_->url(); }
  std::string admin_url() const { return place_->admin_url(); }
  std::string outside_url() const { return place_->outside_url(); }

  Client open(ClientOptions options = {}) const;

  // Options with a ttl whose end a test can wait for.
  LockOptions brief() const { return LockOptions{.ttl = engine().short_ttl}; }
  // The same, and nobody renews: the lease ends by itself.
  LockOptions fading() const { return LockOptions{.ttl = engine().short_ttl, .auto_renew = false}; }

  // How many wait for `name`, as everybody can see.
  static std::size_t waiters(Client& client, const Name& name);
  static std::size_t holders(Client& client, const Name& name);
  // Waits until `count` claims stand in the queue; where nobody can see that, until they had time
  // to come. Call inside ASSERT_TRUE.
  bool queue_reaches(Client& client, const Name& name, std::size_t count) const;

  // Nothing is held or waited for: what every test of a failure ends with.
  static void expect_nothing_left(Client& client, const Name& name);

 private:
  std::unique_ptr<Place> place_;
};

// The code of a failed result, "granted" of a good one: reads well in a failed expectation.
template <class T>
std::string outcome_of(const Result<T>& result) {
  return result ? "granted" : code_name(result.code());
}
// For those who read of a failure.
template <class T>
std::string why(const Result<T>& result) {
  return result ? "" : result.message();
}

// A call on a thread of its own.
using Pending = std::future<Result<Lease>>;
inline Pending in_thread(std::function<Result<Lease>()> call) {
  return std::async(std::launch::async, std::move(call));
}
// It has ended; waits for it, but not for ever. Call inside ASSERT_TRUE, then get().
template <class T>
bool arrives(std::future<T>& pending) {
  return pending.wait_for(kPatience) == std::future_status::ready;
}
template <class T>
bool is_ready(std::future<T>& pending) {
  return pending.wait_for(0s) == std::future_status::ready;
}

// The code that a call throws as LockError; "nothing" if it does not.
std::string thrown_by(const std::function<void()>& call);

inline std::string engine_name(const testing::TestParamInfo<EngineUnderTest>& engine) {
  return engine.param.name;
}

// Runs a suite on every engine.
#define HOLDFAST_ON_EVERY_ENGINE(Suite)                                                \
  INSTANTIATE_TEST_SUITE_P(Contract, Suite, ::testing::ValuesIn(engines_under_test()), \
                           ::holdfast::contract::engine_name)

// The same, for a suite without a fixture of its own.
#define HOLDFAST_CONTRACT(Suite)        \
  class Suite : public ContractTest {}; \
  HOLDFAST_ON_EVERY_ENGINE(Suite)

// Skips the test if the engine has not got it.
#define HOLDFAST_NEEDS(feature) \
  if (!engine().feature) GTEST_SKIP() << "this engine has no " << #feature

}  // namespace holdfast::contract
