// Grants that come too late to be believed.
#include "contract.h"
#include "played_engine.h"

namespace holdfast::core_tests {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::outcome_of;

// As with a ttl that is shorter than the way to the server and back.
std::shared_ptr<Script> always_late() {
  auto script = std::make_shared<Script>();
  script->acquire = [](const Claim& claim, BootTime now) {
    return Grant{Token(1), now - 2 * claim.ttl, claim.ttl};
  };
  return script;
}

TEST(LateGrants, AreAskedForAgainWithPauses) {
  const auto script = always_late();
  Client client = open_played(script);
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire_for(600ms)), "busy");
  EXPECT_GT(script->acquires, 1);
  EXPECT_LT(script->acquires, 100);
  EXPECT_EQ(script->releases, script->acquires) << "each is given back";
}

TEST(LateGrants, TheWaitForOneIsCancelled) {
  const auto script = always_late();
  Client client = open_played(script);
  std::stop_source stop;
  auto waiting =
      std::async(std::launch::async, [&] { return client.mutex("x").acquire(stop.get_token()); });
  ASSERT_TRUE(contract::eventually([&] { return script->acquires > 2; }));
  stop.request_stop();
  ASSERT_TRUE(contract::arrives(waiting));
  EXPECT_EQ(outcome_of(waiting.get()), "cancelled");
}

}  // namespace
}  // namespace holdfast::core_tests
