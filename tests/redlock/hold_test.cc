// Holds that others end, and waits that are broken off: nothing stays behind at any node.
#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

class RedlockHold : public RedlockOfThree {};

// ---- By others ---------------------------------------------------------------------------------

TEST_F(RedlockHold, IsEvictedByItsTokenOnly) {
  Result<Lease> lease = client_.mutex("x", {.ttl = 900ms}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  const Token token = lease->token();
  EXPECT_EQ(outcome_of(other_.evict("x", Token(token.value() - 1))), "not_held");
  EXPECT_EQ(outcome_of(other_.evict("x", Token(token.value() + 1))), "not_held");
  EXPECT_TRUE(eventually([&] { return nodes_with(kWord) == 3; }));
  ASSERT_EQ(told(other_.evict("x", token)), "granted");
  const Result<Lease> next = other_.mutex("x", kLong).try_acquire_for(1s);
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), token);
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
  EXPECT_EQ(outcome_of(lease->release()), "not_held");
  EXPECT_EQ(visible_token(client_, "x"), next->token().value()) << "the next one was harmed";
}

TEST_F(RedlockHold, IsEvictedWhileAMinorityIsDown) {
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  at(0).kill();
  ASSERT_EQ(told(other_.evict("x", lease->token())), "granted");
  expect_free_soon(other_, "x", 2s);
}

TEST_F(RedlockHold, IsReleasedByItsHandleFromAnotherClient) {
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  const Result<Handle> handle = lease->detach();
  ASSERT_EQ(told(handle), "granted");
  EXPECT_EQ(outcome_of(other_.mutex("x", kLong).try_acquire()), "busy");
  ASSERT_EQ(told(other_.renew(*handle)), "granted");
  ASSERT_EQ(told(other_.release(*handle)), "granted");
  EXPECT_TRUE(eventually([&] { return nodes_with(kWord) == 0; }));
  EXPECT_EQ(outcome_of(other_.release(*handle)), "not_held");
  expect_free_soon(client_, "x", 0ms);
}

TEST_F(RedlockHold, IsReleasedByItsHandleWhileAMinorityIsDown) {
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  const Result<Handle> handle = lease->detach();
  ASSERT_EQ(told(handle), "granted");
  at(1).kill();
  ASSERT_EQ(told(other_.release(*handle)), "granted");
  expect_free_soon(client_, "x", 1s);
}

TEST_F(RedlockHold, IsAdoptedByAnotherClientThatRenewsIt) {
  const LockOptions brisk{.ttl = 900ms};
  Result<Lease> lease = client_.mutex("x", brisk).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  const Token token = lease->token();
  const Result<Handle> handle = lease->detach();
  ASSERT_EQ(told(handle), "granted");
  Result<Lease> adopted = other_.adopt(*handle, brisk);
  ASSERT_EQ(told(adopted), "granted");
  EXPECT_EQ(adopted->token(), token);
  pause_for(2 * brisk.ttl);
  EXPECT_TRUE(adopted->held());
  EXPECT_EQ(told(adopted->release()), "granted");
  EXPECT_TRUE(eventually([&] { return nodes_with(kWord) == 0; }));
}

// One node more after another is down: a majority tells what is.
TEST_F(RedlockHold, IsSeenByAMajority) {
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(visible_token(other_, "x"), lease->token().value());
  at(2).kill();
  EXPECT_TRUE(eventually([&] { return visible_token(other_, "x") == lease->token().value(); }));
  const Result<std::vector<LockInfo>> all = other_.list();
  ASSERT_EQ(told(all), "granted");
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->front().name, Name("x"));
  at(1).kill();
  EXPECT_TRUE(eventually([&] { return outcome_of(other_.inspect("x")) == "unreachable"; }));
}

// ---- Waits -------------------------------------------------------------------------------------

TEST_F(RedlockHold, AWaitThatIsCancelledLeavesAllLines) {
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  std::stop_source stop;
  Pending waiting =
      in_thread([&] { return other_.mutex("x", kLong).try_acquire_for(20s, stop.get_token()); });
  ASSERT_TRUE(eventually([&] { return waiters(client_, "x") == 1; }));
  stop.request_stop();
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(outcome_of(waiting.get()), "cancelled");
  EXPECT_TRUE(eventually([&] { return nodes_with(kQueue) == 0; }));
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_EQ(told(lease->release()), "granted");
  EXPECT_TRUE(eventually([&] { return nodes_with(kWord) == 0; }))
      << "it was handed to somebody who had left";
}

TEST_F(RedlockHold, AWaitThatEndsInTimeLeavesAllLines) {
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  const BootTime begun = BootClock::now();
  EXPECT_EQ(outcome_of(other_.mutex("x", kLong).try_acquire_for(200ms)), "busy");
  EXPECT_GE(since(begun), 200ms);
  EXPECT_LT(since(begun), 1s);
  EXPECT_TRUE(eventually([&] { return nodes_with(kQueue) == 0; }));
}

TEST_F(RedlockHold, AReleaseIsHeardOfAtOnce) {
  constexpr int kRounds = 10;
  Duration total{};
  for (int round = 0; round < kRounds; ++round) {
    Result<Lease> lease = client_.mutex("x", kLong).try_acquire_for(1s);
    ASSERT_EQ(told(lease), "granted");
    Pending waiting = in_thread([&] { return other_.mutex("x", kLong).try_acquire_for(20s); });
    ASSERT_TRUE(eventually([&] { return waiters(client_, "x") == 1; }));
    const BootTime released = BootClock::now();
    ASSERT_EQ(told(lease->release()), "granted");
    ASSERT_TRUE(arrives(waiting));
    EXPECT_EQ(told(waiting.get()), "granted");
    total += since(released);
  }
  EXPECT_LT(total, kRounds * 100ms);
}

// The node that is down cannot tell, and the two others can.
TEST_F(RedlockHold, AReleaseIsHeardOfWhileAMinorityIsDown) {
  at(1).kill();
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending waiting = in_thread([&] { return other_.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] {
    return at(0).command({"EXISTS", kQueue}) == "1" && at(2).command({"EXISTS", kQueue}) == "1";
  }));
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease->release()), "granted");
  EXPECT_EQ(told(waiting.get()), "granted");
  EXPECT_LT(since(released), 500ms);
}

// A waiter that died in the line keeps nobody waiting for its ttl.
TEST_F(RedlockHold, AWaiterThatIsGoneIsPassedOver) {
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  for (std::size_t node = 0; node < 3; ++node) {
    at(node).command(
        {"ZADD", kQueue, "1", "00112233445566778899aabbccddeeff x 1 30000 holdfast:nobody label"});
  }
  Pending waiting = in_thread([&] { return other_.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(client_, "x") == 2; }));
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease->release()), "granted");
  EXPECT_EQ(told(waiting.get()), "granted");
  EXPECT_LT(since(released), 500ms);
}

}  // namespace
}  // namespace holdfast::redlock_tests
