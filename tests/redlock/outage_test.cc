// Nodes that are down, stopped or half-open: a minority costs nothing, a majority is said in time,
// and nothing is stranded when they come back.
#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

class RedlockOutage : public RedlockOfThree {
 protected:
  // Rounds that would take far longer if each waited for a node.
  void expect_quick_rounds(Client& client) {
    const BootTime begun = BootClock::now();
    for (int i = 0; i < 20; ++i) {
      Result<Lease> lease = client.mutex("x", kLong).try_acquire();
      ASSERT_EQ(told(lease), "granted");
      ASSERT_EQ(told(lease->renew()), "granted");
      ASSERT_EQ(told(lease->release()), "granted");
    }
    EXPECT_LT(since(begun), 2s) << "20 rounds, and the time for a node is 250 ms";
  }
};

// ---- Down --------------------------------------------------------------------------------------

TEST_F(RedlockOutage, AMinorityThatIsDownIsNotWaitedFor) {
  at(2).kill();
  expect_quick_rounds(client_);
  Client fresh = open(masters_.url());
  expect_quick_rounds(fresh);
}

TEST_F(RedlockOutage, AMajorityThatIsDownIsSaidAtOnce) {
  at(1).kill();
  at(2).kill();
  for (Client* client : {&client_, &other_}) {
    const BootTime begun = BootClock::now();
    const std::string said = told(client->mutex("x", kLong).try_acquire());
    EXPECT_THAT(said, AnyOf(StartsWith("unreachable"), StartsWith("unknown")));
    EXPECT_THAT(said, HasSubstr("1 of 3 nodes can vote, and 2 are needed"));
    EXPECT_THAT(said, HasSubstr(std::to_string(at(1).port())));
    EXPECT_LT(since(begun), 3s);
  }
  EXPECT_THAT(told(client_.inspect("x")), HasSubstr("only 1 of 3 nodes answered"));
  // Its vote was given back.
  EXPECT_TRUE(eventually([&] { return at(0).command({"EXISTS", kWord}) == "0"; }));
}

TEST_F(RedlockOutage, AllNodesDownAreSaidAtOnce) {
  for (std::size_t i = 0; i < 3; ++i) at(i).kill();
  const BootTime begun = BootClock::now();
  EXPECT_THAT(told(client_.mutex("x", kLong).try_acquire()), StartsWith("unreachable"));
  Client fresh = open(masters_.url());
  EXPECT_THAT(told(fresh.mutex("x", kLong).try_acquire()), StartsWith("unreachable"));
  EXPECT_THAT(told(fresh.list()), StartsWith("unreachable"));
  EXPECT_LT(since(begun), 3s);
}

// A client that saw a line there a moment ago goes to its end at once; but it has never been answered.
TEST_F(RedlockOutage, ANewcomerWaitsForNodesThatAreDownOnlyIfItIsToldTo) {
  const Result<Lease> lease = other_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  ASSERT_EQ(outcome_of(client_.mutex("x", kLong).try_acquire_for(50ms)), "busy");
  at(1).kill();
  at(2).kill();
  const BootTime begun = BootClock::now();
  EXPECT_THAT(told(client_.mutex("x", kLong).try_acquire()),
              AnyOf(StartsWith("unreachable"), StartsWith("unknown")));
  // The node that is left may tell who holds it.
  EXPECT_THAT(told(client_.mutex("x", kLong).try_acquire_for(1s)),
              AnyOf(StartsWith("unreachable"), StartsWith("unknown"), StartsWith("busy")));
  EXPECT_LT(since(begun), 15s);
}

TEST_F(RedlockOutage, AWaiterOutlastsAMajorityThatIsRestarted) {
  RedisMasters masters({.count = 3, .durable = true});
  Client holder = open(masters.url() + "?longest_ttl_ms=2000");
  Client client = open(masters.url() + "?longest_ttl_ms=2000");
  Result<Lease> lease = holder.mutex("x", {.ttl = 2s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending waiting = in_thread([&] { return client.mutex("x", {.ttl = 2s}).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 1; }));
  for (const std::size_t i : {0, 1}) masters.at(i).kill();
  for (const std::size_t i : {0, 1}) masters.at(i).restart();
  ASSERT_TRUE(eventually([&] { return lease->renew().ok(); }));
  const Token before = lease->token();
  ASSERT_EQ(told(lease->release()), "granted");
  Result<Lease> next = waiting.get();
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), before);
}

TEST_F(RedlockOutage, ANodeThatWasDownGetsTheVoteWithARenewal) {
  RedisMasters masters({.count = 3, .durable = true});
  // So that all have been founded, and one that was restarted votes again soon.
  Client client = open(masters.url() + "?collect=all&longest_ttl_ms=2000");
  constexpr LockOptions kBrief{.ttl = 2s};
  ASSERT_EQ(told(client.mutex("warm", kBrief).try_acquire()), "granted");
  masters.at(2).kill();
  Result<Lease> lease = client.mutex("x", kBrief).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  masters.at(2).restart();
  EXPECT_EQ(masters.at(2).command({"EXISTS", kWord}), "0");
  EXPECT_TRUE(eventually([&] {
    return lease->renew().ok() && masters.at(2).command({"EXISTS", kWord}) == "1";
  })) << "one node more may fail then";
  // Now another one may.
  masters.at(0).kill();
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_EQ(told(lease->release()), "granted");
  EXPECT_TRUE(eventually([&] { return masters.at(2).command({"EXISTS", kWord}) == "0"; }));
}

// ---- Stopped -----------------------------------------------------------------------------------

TEST_F(RedlockOutage, AMinorityThatStandsStillIsNotWaitedFor) {
  at(0).pause();
  expect_quick_rounds(client_);
  const BootTime begun = BootClock::now();
  Client fresh = open(masters_.url());
  EXPECT_EQ(told(fresh.mutex("y", kLong).try_acquire()), "granted");
  EXPECT_LT(since(begun), 1s);
  expect_quick_rounds(fresh);
  at(0).resume();
  // Its late work is in nobody's way.
  EXPECT_TRUE(eventually([&] { return at(0).command({"EXISTS", kWord}) == "0"; }));
  at(1).kill();
  expect_free_soon(other_, "x", 5s);
}

TEST_F(RedlockOutage, AStoppedMinorityIsWaitedForOnlySoLongByWhoCollectsAll) {
  Client patient = open(masters_.url() + "?collect=all&node_timeout_ms=100");
  ASSERT_EQ(told(patient.mutex("x", kLong).try_acquire()), "granted");
  at(0).pause();
  const BootTime begun = BootClock::now();
  EXPECT_EQ(told(patient.mutex("y", kLong).try_acquire()), "granted");
  EXPECT_GE(since(begun), 90ms);
  EXPECT_LT(since(begun), 1s);
  at(0).resume();
}

TEST_F(RedlockOutage, AMajorityThatStandsStillIsSaidInTimeAndStrandsNothing) {
  at(0).pause();
  at(1).pause();
  BootTime begun = BootClock::now();
  const std::string said = told(client_.mutex("x", kLong).try_acquire());
  EXPECT_THAT(said, AnyOf(StartsWith("unreachable"), StartsWith("unknown")));
  EXPECT_THAT(said, HasSubstr("only 1 of 3 nodes"));
  EXPECT_LT(since(begun), 3s);
  begun = BootClock::now();
  EXPECT_THAT(told(client_.mutex("x", kLong).try_acquire_for(300ms)),
              AnyOf(StartsWith("unreachable"), StartsWith("unknown")));
  EXPECT_LT(since(begun), 3s);
  at(0).resume();
  at(1).resume();
  expect_free_soon(other_, "x", 5s);  // long before the ttl of 30 s
  expect_free_soon(client_, "x", 5s);
}

TEST_F(RedlockOutage, ALeaseOutlivesAStopThatIsShorterThanItsTtl) {
  Result<Lease> lease = client_.mutex("x", {.ttl = 3s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  at(0).pause();
  at(1).pause();
  pause_for(1500ms);  // a renewal or more in vain
  at(0).resume();
  at(1).resume();
  const BootTime before = lease->valid_until();
  EXPECT_TRUE(eventually([&] { return lease->valid_until() > before; }));
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(told(lease->release()), "granted");
}

TEST_F(RedlockOutage, ALeaseThatAMajorityDoesNotRenewIsLostInTime) {
  const LockOptions brisk{.ttl = 600ms};
  Result<Lease> lease = client_.mutex("x", brisk).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  at(0).pause();
  at(1).pause();
  const BootTime stopped = BootClock::now();
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
  EXPECT_LT(since(stopped), brisk.ttl + 100ms);
  EXPECT_FALSE(lease->held());
  at(0).resume();
  at(1).resume();
  expect_free_soon(other_, "x", 5s);
}

// ---- Half-open ---------------------------------------------------------------------------------

TEST(RedlockHalfOpen, AMinorityThatIsHalfOpenIsNotWaitedForAndUsedAgain) {
  ProxiedMasters nodes;
  Client client = open(nodes.url("?command_timeout_ms=1000"));
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  nodes.proxy(1).cut();
  const BootTime begun = BootClock::now();
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(told(client.mutex("x", kLong).try_acquire_for(1s)), "granted");
  }
  EXPECT_LT(since(begun), 1s);
  // It is noticed, and a new connection is made: that node alone makes the majority now.
  ASSERT_TRUE(eventually([&] {
    static_cast<void>(client.mutex("y", kLong).try_acquire());
    return nodes.proxy(1).accepted() > 1 && nodes.at(1).command({"EXISTS", "{y}:hf:r"}) == "1";
  }));
  nodes.at(0).kill();
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(5s)), "granted");
}

TEST(RedlockHalfOpen, AMajorityThatIsHalfOpenIsGotOver) {
  ProxiedMasters nodes;
  Client client = open(nodes.url("?command_timeout_ms=1000"));
  Client watcher = open(nodes.masters().url());
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  nodes.proxy(0).cut();
  nodes.proxy(1).cut();
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(15s)), "granted");
  expect_free_soon(watcher, "x", 5s);
}

}  // namespace
}  // namespace holdfast::redlock_tests
