// What the scenarios have in common: clients, and leases that only time can end.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "contract.h"
#include "holdfast/holdfast.h"
#include "judge.h"
#include "nodes.h"

namespace holdfast::scenarios {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::Dice;
using contract::eventually;
using contract::in_thread;
using contract::outcome_of;
using contract::pause_for;
using contract::Pending;
using test::RedisServer;

// Longer than a test takes, and not renewed: whoever has it believes in it to the end of the test,
// whatever the nodes say. A jump by kPastTtl ends it at a node.
inline constexpr LockOptions kUnrenewed{.ttl = 30s, .auto_renew = false};
inline constexpr std::chrono::microseconds kPastTtl = 60s;

inline Client open(const std::string& url) { return Client::open(url).value(); }

// The nodes at which somebody has the word are these; waits for it.
inline void expect_locked_at(Nodes& nodes, const std::vector<int>& numbers) {
  EXPECT_TRUE(eventually([&] { return nodes.locked_at("x") == numbers; }))
      << testing::PrintToString(nodes.locked_at("x"));
}

// All nodes have been used by somebody: what is new about them is over.
inline void break_in(Nodes& nodes) {
  Client client = open(nodes.url());
  EXPECT_TRUE(client.mutex("x", kUnrenewed).try_acquire_for(10s));
  expect_locked_at(nodes, {});
}

// "granted", or "busy: why".
inline std::string told(const Result<Lease>& result) {
  return result ? "granted" : std::string(code_name(result.code())) + ": " + result.message();
}

}  // namespace holdfast::scenarios
