// A client of a database server that answers something else than it was asked returns a failure with a
// message, within its time. Never a crash, never a hang, and nothing is stranded.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "answer_mutations.h"
#include "contract.h"
#include "holdfast/holdfast.h"
#include "holdfast/versioned.h"
#include "proxy.h"

namespace holdfast::contract {

// HOLDFAST_SEEDS: how many are played, and HOLDFAST_FIRST_SEED from where. With HOLDFAST_TELL the outcome of each
// call is printed.
inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class StrangeAnswers {
 public:
  StrangeAnswers(test::Proxy& proxy, test::SqlProtocol protocol)
      : proxy_(proxy), protocol_(protocol) {}

  // Calls play(seed) for each seed.
  template <class Play>
  static void for_each_seed(std::uint64_t count, const Play& play) {
    const std::uint64_t first = number_from("HOLDFAST_FIRST_SEED", 1);
    for (std::uint64_t i = 0; i < number_from("HOLDFAST_SEEDS", count); ++i) {
      const testing::ScopedTrace trace(__FILE__, __LINE__, "seed " + std::to_string(first + i));
      play(first + i);
    }
  }

  // A lock of one client, from beginning to end. Every other seed leaves the login as it is.
  void play_lock(const std::string& url, const std::string& name, std::uint64_t seed) {
    Client client = Client::open(url, {.request_timeout = kTimeout}).value();
    if (seed % 2 == 0) expect_sound("inspect before", [&] { return client.inspect(name); });
    begin(seed);
    Mutex mutex = client.mutex(name, {.ttl = std::chrono::seconds(1)});
    Result<Lease> lease = mutex.try_acquire();
    expect_message("try_acquire", lease);
    expect_sound("inspect", [&] { return client.inspect(name); });
    expect_sound("list", [&] { return client.list(""); });
    if (lease) {
      expect_sound("renew", [&] { return lease->renew(); });
      expect_sound("try_acquire_for", [&] { return mutex.try_acquire_for(kTimeout / 2); });
      expect_sound("release", [&] { return lease->release(); });
    }
    expect_sound("evict", [&] { return client.evict(name, Token(1)); });
    proxy_.alter(test::Direction::to_client, nullptr);
  }

  void play_versioned(const std::string& url, const VersionedTable& table, std::uint64_t seed) {
    Versioned rows = Versioned::open(url, table, {.request_timeout = kTimeout}).value();
    if (seed % 2 == 0) expect_sound("read before", [&] { return rows.read("a"); });
    begin(seed);
    const std::vector<Versioned::Value> values(table.columns.size(), "1");
    expect_sound("insert", [&] { return rows.insert("a", values); });
    expect_sound("read", [&] { return rows.read("a"); });
    expect_sound("write", [&] { return rows.write("a", 1, values); });
    expect_sound("update", [&] {
      return rows.update("a", [](std::vector<Versioned::Value>&) {}, {.attempts = 2});
    });
    proxy_.alter(test::Direction::to_client, nullptr);
  }

 private:
  static constexpr Duration kTimeout = std::chrono::milliseconds(100);
  // A call asks several times: opens a connection, asks, takes back what it does not know.
  static constexpr Duration kLongest = std::chrono::seconds(10);

  void begin(std::uint64_t seed) {
    const auto changes = std::make_shared<test::AnswerMutations>(protocol_, seed, 3);
    proxy_.alter(test::Direction::to_client, [changes](std::string& bytes) { (*changes)(bytes); });
  }
  template <class T>
  static void expect_message(const char* what, const Result<T>& result) {
    if (!result) {
      EXPECT_THAT(result.message(), testing::Not(testing::MatchesRegex("([A-Za-z]+ at [^ ]+:)? *")))
          << code_name(result.code());
    }
    if (std::getenv("HOLDFAST_TELL")) {
      std::fprintf(stderr, "%s: %s\n", what, result ? "granted" : result.message().c_str());
    }
  }
  template <class Call>
  static void expect_sound(const char* what, const Call& call) {
    const BootTime begun = BootClock::now();
    expect_message(what, call());
    EXPECT_LT(BootClock::now() - begun, kLongest) << what << " hung";
  }

  test::Proxy& proxy_;
  test::SqlProtocol protocol_;
};

}  // namespace holdfast::contract
