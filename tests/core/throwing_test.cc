// An engine that throws has failed, and no more than that.
#include <stdexcept>

#include "contract.h"
#include "played_engine.h"

namespace holdfast::core_tests {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::outcome_of;

TEST(ThrowingEngine, ALeaseThatItCannotRenewIsLostAndTheProcessGoesOn) {
  const auto script = std::make_shared<Script>();
  script->renew = [](const Hold&, BootTime) -> Result<Grant> {
    throw std::out_of_range("made up");
  };
  Client client = open_played(script);
  Lease lease = client.mutex("x", {.ttl = 300ms}).acquire().value();
  EXPECT_EQ(outcome_of(lease.renew()), "unknown");
  EXPECT_TRUE(contract::eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_GT(script->renewals, 1) << "nothing was renewed in the background";
}

TEST(ThrowingEngine, WhatItWasGrantedIsUnknownAndTakenBack) {
  const auto script = std::make_shared<Script>();
  script->acquire = [](const Claim&, BootTime) -> Result<Grant> {
    throw std::out_of_range("made up");
  };
  Client client = open_played(script);
  const Result<Lease> lease = client.mutex("x").try_acquire();
  EXPECT_EQ(outcome_of(lease), "unknown");
  EXPECT_THAT(lease.message(), testing::HasSubstr("made up"));
  EXPECT_TRUE(contract::eventually([&] { return script->releases > 0; })) << "it may hold it";
}

}  // namespace
}  // namespace holdfast::core_tests
