// How long a lock that somebody waited for was nobody's, as an observer hears of it.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "metrics/metrics_testing.h"

namespace holdfast {
namespace {

using namespace metrics_testing;       // NOLINT(google-build-using-namespace): test code
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

// Plays events to an observer, in an order that a test chooses.
struct HandoverTest : MetricsTest {
  static Claim claim(std::uint64_t id, Mode mode = Mode::exclusive) {
    const ClaimId drawn = numbered_id(id);
    return {.name = "x", .id = drawn, .call = drawn, .mode = mode};
  }
  Claim wait(Claim claim) {
    claim.since = world.now();
    observer->on_wait(claim);
    return claim;
  }
  void grant(const Claim& claim) { observer->on_granted({claim, Token(1)}, world.now() + 30s); }
  void release(const Claim& claim) { observer->on_released({claim, Token(1)}, true); }
  double count() { return of(metrics, "handover_seconds_count", "x"); }
  double sum() { return of(metrics, "handover_seconds_sum", "x"); }

  std::shared_ptr<Observer> observer = metrics.observer("test");
};

TEST_F(HandoverTest, LastsFromTheReleaseToTheGrantOfACallThatWaited) {
  const Claim first = wait(claim(1));
  grant(first);
  const Claim second = wait(claim(2));
  world.advance(5s);
  EXPECT_EQ(count(), -1);
  release(first);
  world.advance(2s);
  grant(second);
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(sum(), 2);
}

TEST_F(HandoverTest, IsNotToACallThatBeganWhenTheLockWasFree) {
  const Claim first = wait(claim(1));
  grant(first);
  const Claim second = wait(claim(2));
  release(first);
  world.advance(2s);
  const Claim newcomer = wait(claim(3));
  grant(newcomer);
  release(newcomer);
  EXPECT_EQ(count(), -1);
  grant(second);  // from the end of the newcomer's hold
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(sum(), 0);
}

TEST_F(HandoverTest, TakesNoTimeIfTheWaiterHearsOfItBeforeTheReleaser) {
  const Claim first = wait(claim(1));
  grant(first);
  const Claim second = wait(claim(2));
  const Claim third = wait(claim(3));
  world.advance(1s);
  grant(second);
  release(first);
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(sum(), 0);
  world.advance(7s);  // held by the second
  release(second);
  world.advance(1s);
  grant(third);
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(sum(), 1);
}

TEST_F(HandoverTest, BeginsAtTheLastMomentOfAHoldThatWasLost) {
  const Claim first = wait(claim(1));
  grant(first);
  const Claim second = wait(claim(2));
  world.advance(33s);  // valid for 30
  observer->on_lost({first, Token(1)}, world.now());
  world.advance(1s);
  grant(second);
  EXPECT_EQ(sum(), 4);
  observer->on_released({first, Token(1)}, false);
  EXPECT_EQ(count(), 1);
}

TEST_F(HandoverTest, IsNotKnownIfTheEndOfTheHoldIsNot) {
  const Claim first = wait(claim(1));
  grant(first);
  const Claim second = wait(claim(2));
  observer->on_released({first, Token(1)}, Failure(Code::unknown, "no answer"));
  world.advance(30s);
  grant(second);
  EXPECT_EQ(count(), -1);
}

TEST_F(HandoverTest, IsNotFromOneOfSeveralReaders) {
  const Claim reader = wait(claim(1, Mode::shared));
  grant(reader);
  const Claim writer = wait(claim(2));
  release(reader);
  world.advance(3s);  // of another reader
  grant(writer);
  EXPECT_EQ(count(), -1);
  const Claim next = wait(claim(3, Mode::shared));
  release(writer);
  world.advance(1s);
  grant(next);
  EXPECT_EQ(
      parsed(metrics).at(R"(holdfast_handover_seconds_sum{engine="test",name="x",mode="shared"})"),
      1);
}

TEST_F(HandoverTest, IsMeasuredBetweenClients) {
  Client one = client();
  Client two = client();
  Lease held = one.mutex("x").acquire().value();
  std::thread waiter([&] { EXPECT_TRUE(two.mutex("x").acquire().ok()); });
  world.await_waiting(1);
  ASSERT_TRUE(held.release().ok());
  waiter.join();
  EXPECT_EQ(count(), 1);
}

}  // namespace
}  // namespace holdfast
