// Clients of another kind that follow the published Redlock: they and we keep each other out.
#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

class RedlockForeign : public RedlockOfThree {
 protected:
  // As the other libraries do it.
  void lock_at(std::vector<std::size_t> nodes, const std::string& ttl_ms = "5000") {
    for (const std::size_t node : nodes) {
      ASSERT_EQ(at(node).command({"SET", kWord, "foreign", "NX", "PX", ttl_ms}), "OK");
    }
  }
  Pending queue_up() {
    Pending waiting = in_thread([&] { return client_.mutex("x", kLong).try_acquire_for(20s); });
    EXPECT_TRUE(eventually([&] { return waiters(other_, "x") == 1; }));
    return waiting;
  }
};

TEST_F(RedlockForeign, AMajorityThatSomebodyElseHasIsBusy) {
  lock_at({0, 2});
  const Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  EXPECT_EQ(outcome_of(lease), "busy");
  EXPECT_EQ(at(0).command({"GET", kWord}), "foreign");
  EXPECT_TRUE(eventually([&] { return at(1).command({"EXISTS", kWord}) == "0"; }))
      << "our vote at the third stands in their way";
}

TEST_F(RedlockForeign, AMinorityThatSomebodyElseHasIsNotWaitedFor) {
  lock_at({1});
  const Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(at(1).command({"GET", kWord}), "foreign");
}

TEST_F(RedlockForeign, OurLockKeepsThemOutOfAMajority) {
  const Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  std::size_t got = 0;
  for (std::size_t node = 0; node < 3; ++node) {
    if (at(node).command({"SET", kWord, "foreign", "NX", "PX", "5000"}) == "OK") ++got;
  }
  EXPECT_LT(got, 2U);
}

// They tell nobody; the nodes do. A poll would find it after a quarter of a second on average.
TEST_F(RedlockForeign, TheirReleaseIsHeardOfAtOnce) {
  Duration total{};
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    lock_at({0, 1, 2}, "30000");
    Pending waiting = queue_up();
    pause_for(50ms);  // It has asked to be told.
    const BootTime released = BootClock::now();
    at_all({"DEL", kWord});
    ASSERT_TRUE(arrives(waiting));
    Result<Lease> lease = waiting.get();
    ASSERT_EQ(told(lease), "granted");
    total += since(released);
    ASSERT_EQ(told(lease->release()), "granted");
    ASSERT_TRUE(eventually([&] { return nodes_with(kWord) == 0; }));
  }
  EXPECT_LT(total, kRounds * 100ms);
}

TEST_F(RedlockForeign, TheirEndByTtlIsHeardOf) {
  lock_at({0, 1}, "400");
  const BootTime begun = BootClock::now();
  const Result<Lease> lease = client_.mutex("x", kLong).try_acquire_for(10s);
  ASSERT_EQ(told(lease), "granted");
  EXPECT_GE(since(begun), 350ms);
  EXPECT_LT(since(begun), 1500ms);
}

TEST_F(RedlockForeign, AHolderWhoseWordTheyTookAtAMajorityHasLostIt) {
  Result<Lease> lease = client_.mutex("x", {.ttl = 900ms}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  for (const std::size_t node : {0, 1}) {
    at(node).command({"SET", kWord, "foreign", "PX", "5000"});  // as a careless client does
  }
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
  EXPECT_FALSE(lease->held());
  EXPECT_EQ(outcome_of(lease->release()), "not_held");
  EXPECT_EQ(at(0).command({"GET", kWord}), "foreign");
}

}  // namespace
}  // namespace holdfast::redlock_tests
