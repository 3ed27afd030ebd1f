// The faults that a user's test orders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "holdfast/holdfast.h"
#include "holdfast/testing.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

template <class T>
std::string fault_outcome(const Result<T>& result) {
  return result ? "granted" : code_name(result.code());
}

TEST(TestWorldFaults, ALostLeaseIsToldAtOnceAndTheNextWaiterHasTheLock) {
  TestWorld world;
  Client client = world.client();
  Client other = world.client();
  Lease lease = client.mutex("x").acquire().value();
  auto waiting = std::async(std::launch::async, [&] { return other.mutex("x").acquire(); });
  world.await_waiting(1);
  world.lose(lease);
  EXPECT_TRUE(lease.lost().stop_requested());
  EXPECT_FALSE(lease.held());
  const Result<Lease> next = waiting.get();
  ASSERT_TRUE(next);
  EXPECT_GT(next->token(), lease.token());
  EXPECT_EQ(fault_outcome(lease.release()), "not_held");
  EXPECT_TRUE(next->held());
}

TEST(TestWorldFaults, LosingALockThatNobodyHoldsIsAMistake) {
  TestWorld world;
  EXPECT_THROW(world.lose("x"), LockError);
}

TEST(TestWorldFaults, LosingANameTakesItFromAllWhoShareIt) {
  TestWorld world;
  Client client = world.client();
  const Lease one = client.shared_mutex("x").shared().acquire().value();
  const Lease two = client.shared_mutex("x").shared().acquire().value();
  world.lose("x");
  EXPECT_TRUE(one.lost().stop_requested());
  EXPECT_TRUE(two.lost().stop_requested());
}

TEST(TestWorldFaults, AServerThatIsDownLosesALeaseInTimeAndIsUnreachable) {
  TestWorld world;
  Client client = world.client();
  const Lease lease = client.mutex("x", {.ttl = 30s}).acquire().value();
  world.server_down();
  EXPECT_EQ(fault_outcome(client.mutex("y").try_acquire()), "unreachable");
  EXPECT_EQ(fault_outcome(client.ping()), "unreachable");
  world.advance(10s);
  EXPECT_TRUE(lease.held());
  world.advance(20s);
  EXPECT_FALSE(lease.held());
  EXPECT_TRUE(lease.lost().stop_requested());
  world.server_up();
  EXPECT_EQ(fault_outcome(client.mutex("y").try_acquire()), "granted");
}

TEST(TestWorldFaults, AShortOutageCostsNoLease) {
  TestWorld world;
  Client client = world.client();
  const Lease lease = client.mutex("x", {.ttl = 30s}).acquire().value();
  world.server_down_for(15s);
  world.advance(1h);
  EXPECT_TRUE(lease.held());
}

TEST(TestWorldFaults, ACallThatWaitsOutlastsAnOutage) {
  TestWorld world;
  Client client = world.client();
  const BootTime before = world.now();
  world.server_down_for(3s);
  EXPECT_EQ(fault_outcome(client.mutex("x").try_acquire_for(10s)), "granted");
  EXPECT_GE(world.now(), before + 3s);
  EXPECT_LT(world.now(), before + 10s);
}

TEST(TestWorldFaults, AWaiterKeepsItsPlaceThroughAnOutage) {
  TestWorld world;
  Client client = world.client();
  Client other = world.client();
  const Lease fading = client.mutex("x", {.ttl = 10s, .auto_renew = false}).acquire().value();
  auto waiting = std::async(std::launch::async, [&] { return other.mutex("x").acquire(); });
  world.await_waiting(1);
  world.server_down_for(20s);
  world.advance(20s);
  const Result<Lease> next = waiting.get();
  EXPECT_EQ(fault_outcome(next), "granted");
}

TEST(TestWorldFaults, ALostReplyIsUnknownAndTheClientCleansUp) {
  TestWorld world;
  Client client = world.client();
  world.lose_reply(TestWorld::Request::acquire);
  EXPECT_EQ(client.mutex("x").try_acquire().outcome(), Outcome::unknown);
  EXPECT_EQ(fault_outcome(client.mutex("x").try_acquire()), "granted");
  EXPECT_EQ(client.inspect("x").value().last_token, Token(2)) << "the first was executed";
}

TEST(TestWorldFaults, ALostRequestIsUnknownAndWasNotExecuted) {
  TestWorld world;
  Client client = world.client();
  world.lose_request(TestWorld::Request::acquire);
  EXPECT_EQ(client.mutex("x").try_acquire().outcome(), Outcome::unknown);
  EXPECT_EQ(client.inspect("x").value().last_token, Token());
}

TEST(TestWorldFaults, AReleaseWithoutAnAnswerIsUnknownAndFreesTheLock) {
  TestWorld world;
  Client client = world.client();
  Lease lease = client.mutex("x").acquire().value();
  world.lose_request(TestWorld::Request::release);
  EXPECT_EQ(lease.release().outcome(), Outcome::unknown);
  world.advance(1s);
  EXPECT_EQ(fault_outcome(client.mutex("x").try_acquire()), "granted");
}

TEST(TestWorldFaults, ALostRenewalIsTriedAgain) {
  TestWorld world;
  Client client = world.client();
  const Lease lease = client.mutex("x", {.ttl = 30s}).acquire().value();
  world.lose_reply(TestWorld::Request::renew);
  world.advance(30s);
  EXPECT_TRUE(lease.held());
}

}  // namespace
}  // namespace holdfast
