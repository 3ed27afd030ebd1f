// Row 24: some nodes are down or slow, and the lock does not mind.
#include <algorithm>
#include <vector>

#include "scenario_testing.h"

namespace holdfast::scenarios {
namespace {

class AvailabilityTest : public testing::Test {
 protected:
  // The median of acquiring and of releasing, each done `count` times, and tokens that grow.
  struct Medians {
    Duration acquire{};
    Duration release{};
  };
  static Medians medians(Client& client, int count = 20) {
    std::vector<Duration> acquires;
    std::vector<Duration> releases;
    Token last;
    for (int i = 0; i < count; ++i) {
      const BootTime begin = BootClock::now();
      Result<Lease> lease = client.mutex("x").try_acquire_for(10s);
      const BootTime granted = BootClock::now();
      EXPECT_EQ(told(lease), "granted");
      if (!lease) return {.acquire = 1h, .release = 1h};
      EXPECT_GT(lease->token(), last);
      last = lease->token();
      EXPECT_TRUE(lease->release());
      acquires.push_back(granted - begin);
      releases.push_back(BootClock::now() - granted);
    }
    return {.acquire = median(acquires), .release = median(releases)};
  }

  static Duration median(std::vector<Duration> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  Nodes nodes_;
};

// given  two of five nodes have crashed
// when   a client that knew them, and one that did not, ask for the lock
// then   both get it, each in its turn
TEST_F(AvailabilityTest, TwoOfFiveNodesCrashedAndItStillGrants) {
  Client client = open(nodes_.url());
  medians(client, 1);
  nodes_[2].kill();
  nodes_[5].kill();
  EXPECT_LT(medians(client).acquire, 100ms);
  Client newcomer = open(nodes_.url());
  EXPECT_LT(medians(newcomer).acquire, 100ms);
}

// given  two of five nodes have crashed, and A holds the lock
// when   B, which has time, asks for it
// then   B is told that it is busy, and waits for its turn if it may
TEST_F(AvailabilityTest, TwoOfFiveNodesCrashedAndBusyIsStillBusy) {
  Client a = open(nodes_.url());
  medians(a, 1);
  nodes_[2].kill();
  nodes_[5].kill();
  Lease of_a = a.mutex("x").try_acquire_for(5s).value();
  expect_locked_at(nodes_, {1, 3, 4});
  for (int i = 0; i < 5; ++i) {
    Client b = open(nodes_.url());
    EXPECT_EQ(outcome_of(b.mutex("x").try_acquire()), "busy");
  }
  Client b = open(nodes_.url());
  Pending of_b = in_thread([&] { return b.mutex("x").try_acquire_for(20s); });
  EXPECT_EQ(of_b.wait_for(300ms), std::future_status::timeout);
  EXPECT_TRUE(of_a.release());
  EXPECT_EQ(told(of_b.get()), "granted");
}

// given  two of five nodes hang: they are connected and never answer
TEST_F(AvailabilityTest, TwoOfFiveNodesHangAndItStillGrants) {
  Client client = open(nodes_.url());
  medians(client, 1);
  nodes_[1].pause();
  nodes_[4].pause();
  const Medians with_hanging = medians(client);
  EXPECT_LT(with_hanging.acquire, 100ms);
  EXPECT_LT(with_hanging.release, 100ms);
  Client newcomer = open(nodes_.url());
  EXPECT_LT(medians(newcomer).acquire, 100ms);
}

// given  three of five nodes have crashed
// then   nobody gets the lock, and it is granted again when one of them is back and its silence is
//        over (its clock is moved there)
TEST_F(AvailabilityTest, ThreeOfFiveNodesCrashedAndItGrantsWhenOneIsBack) {
  Nodes durable(5, {.durable = true});
  Client client = open(durable.url());
  medians(client, 1);
  for (const int number : {1, 2, 3}) durable[number].kill();
  EXPECT_FALSE(client.mutex("x").try_acquire_for(300ms));
  durable[2].restart();
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(client.mutex("x").try_acquire());
    return durable[2].command({"GET", "holdfast:redlock"}).starts_with("joining");
  }));
  durable.jump_clocks({2}, 61s);
  EXPECT_TRUE(eventually([&] { return client.mutex("x").try_acquire().ok(); }));
}

// given  one of five nodes answers after 200 ms
// when   a client takes and releases the lock again and again
// then   it does not wait for that node
TEST_F(AvailabilityTest, OneOfFiveNodesIsSlowAndItsLatencyIsNotPaid) {
  View view(nodes_);
  Client client = open(view.url());
  medians(client, 1);
  view.slow_down(3, 200ms);
  const Medians with_slow = medians(client);
  EXPECT_LT(with_slow.acquire, 100ms);
  EXPECT_LT(with_slow.release, 100ms);
}

// given  one node is slow and two have crashed
// then   the slow one is needed, and its vote is waited for
TEST_F(AvailabilityTest, ASlowNodeThatIsNeededIsWaitedFor) {
  View view(nodes_);
  Client client = open(view.url());
  medians(client, 1);
  view.slow_down(3, 100ms);
  nodes_[1].kill();
  nodes_[2].kill();
  const Medians with_needed = medians(client, 3);
  EXPECT_GE(with_needed.acquire, 90ms);
  EXPECT_LT(with_needed.acquire, 5s);
}

}  // namespace
}  // namespace holdfast::scenarios
