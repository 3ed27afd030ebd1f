// Rows 1, 2, 13, 16 and 17 on ZooKeeper: pauses, partitions and sessions that end.
#include "proxy.h"
#include "scenario_testing.h"
#include "waiting.h"
#include "zookeeper_server.h"

namespace holdfast::scenarios {
namespace {

using test::Proxy;
using test::ProxyMode;
using test::ZooKeeperEnsemble;
using test::ZooKeeperServer;

constexpr LockOptions kShortLived{.ttl = 1s};

// Looked at its lease once, and does not look again.
Judge::Worker careless(const Lease& lease) {
  return {[] { return true; }, lease.token()};
}

class ZooKeeperScenario : public testing::Test {
 protected:
  // A's own way to the server: held up, it is as if A were paused, or its messages late.
  std::string url_of_a() const { return "zookeeper://127.0.0.1:" + std::to_string(way_.port()); }

  ZooKeeperServer server_;
  Proxy way_{server_.port()};
  Client a_ = open(url_of_a());
  Client b_ = open(server_.url());
  Judge judge_;
};

// Row 1.
// given  A holds, and has looked at its lease
// when   A pauses for longer than its ttl, and B acquires meanwhile
// then   both write; the fence refuses A
TEST_F(ZooKeeperScenario, AHolderThatPausesAfterItsLastLookHarmsWhatHasNoFence) {
  const Lease of_a = a_.mutex("x", kShortLived).acquire().value();
  ASSERT_TRUE(of_a.held());
  way_.set_both(ProxyMode::hold);
  const Result<Lease> of_b = b_.mutex("x").try_acquire_for(20s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_EQ(judge_.judge(careless(of_a), Judge::worker(of_b)), kOverlapWithoutHarmToTheFenced);
}

// Row 2.
// given  A's acquire is on its way back
// when   A pauses for longer than its ttl before it looks
// then   A does not believe in it
TEST_F(ZooKeeperScenario, AHolderThatPausesBeforeItLooksIsSafe) {
  ASSERT_TRUE(a_.mutex("x", kShortLived).acquire());  // It has a session now.
  way_.set(test::Direction::to_client, ProxyMode::hold);
  Pending of_a = in_thread([&] { return a_.mutex("x", kShortLived).try_acquire(); });
  const auto held_by_anybody = [&] { return !b_.inspect("x").value().holders.empty(); };
  ASSERT_TRUE(eventually(held_by_anybody));
  const Result<Lease> of_b = b_.mutex("x").try_acquire_for(20s);
  ASSERT_EQ(told(of_b), "granted");
  way_.set(test::Direction::to_client, ProxyMode::pass);
  const Result<Lease> late = of_a.get();
  EXPECT_EQ(judge_.judge(Judge::worker(late), Judge::worker(of_b)), kSafe);
}

// Row 16.
// given  A holds and is well
// when   the server stands still for longer than A's ttl
// then   A stops by its own clock before B is let in
TEST_F(ZooKeeperScenario, AServerThatStandsStillEndsTheHoldByTheHoldersOwnClock) {
  const Lease of_a = a_.mutex("x", kShortLived).acquire().value();
  Pending waiting = in_thread([&] { return b_.mutex("x").try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] { return b_.inspect("x").value().waiters.size() == 1; }));
  server_.pause();
  EXPECT_TRUE(eventually([&] { return of_a.lost().stop_requested(); }));
  EXPECT_FALSE(of_a.held());
  pause_for(2s);
  server_.resume();
  const Result<Lease> of_b = waiting.get();
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_EQ(judge_.judge(Judge::worker(of_a), Judge::worker(of_b)), kSafe);
  // Who has no clock of its own is harmed: the scenario bites.
  EXPECT_EQ(judge_.judge(careless(of_a), Judge::worker(of_b)), kOverlapWithoutHarmToTheFenced);
}

// Row 17.
// given  A holds, a second waits, and B waits behind the second
// when   the session of the second ends
// then   B moves up and is not let in
TEST_F(ZooKeeperScenario, AWaiterWhoseSessionEndsInTheQueueLetsNobodyIn) {
  Client holder = open(server_.url());
  Lease of_holder = holder.mutex("x").acquire().value();
  Pending second = in_thread([&] { return a_.mutex("x", kShortLived).try_acquire_for(60s); });
  const auto waiting = [&](std::size_t count) {
    return eventually([&] { return holder.inspect("x").value().waiters.size() == count; });
  };
  ASSERT_TRUE(waiting(1));
  Pending of_b = in_thread([&] { return b_.mutex("x").try_acquire_for(60s); });
  ASSERT_TRUE(waiting(2));
  way_.set_both(ProxyMode::drop);
  ASSERT_TRUE(waiting(1)) << "the session of the second has not ended";
  pause_for(300ms);
  EXPECT_EQ(of_b.wait_for(0s), std::future_status::timeout) << "B was let in beside the holder";
  EXPECT_TRUE(of_holder.held());
  ASSERT_TRUE(of_holder.release());
  const Result<Lease> next = of_b.get();
  EXPECT_EQ(told(next), "granted");
}

// Row 13.
// given  A is on the side of the minority, with the one server that it knows
// when   B, on the other side, asks for A's lock
// then   A gets nothing and stops believing; B is let in when A's session is over
TEST(ZooKeeperMinorityScenario, TheMinorityStandsStillAndLosesItsSession) {
  // The server on A's side does not notice before the end of the test.
  ZooKeeperEnsemble ensemble({.proxied_first = true, .server = {.settings = {"syncLimit=600"}}});
  for (int i = 0; ensemble.leader() == 0 && i < 5; ++i) {
    ensemble.at(0).restart();
    ensemble.wait_until_all_serve();
  }
  ASSERT_NE(ensemble.leader(), 0U);
  Judge judge;
  Client a = open(ensemble.at(0).url());
  Client b = open("zookeeper://" + ensemble.at(1).host() + "," + ensemble.at(2).host());
  const Lease of_a = a.mutex("x", {.ttl = 2s}).acquire().value();
  ensemble.isolate_first(true);
  const Result<Lease> of_b = b.mutex("x").try_acquire_for(60s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_EQ(judge.judge(Judge::worker(of_a), Judge::worker(of_b)), kSafe);
  EXPECT_EQ(judge.judge(careless(of_a), Judge::worker(of_b)), kOverlapWithoutHarmToTheFenced);
  const Result<Lease> nothing = a.mutex("y").try_acquire();
  EXPECT_FALSE(nothing) << "a minority granted a lock";
  ensemble.isolate_first(false);
  EXPECT_TRUE(eventually([&] { return a.mutex("y").try_acquire().ok(); }, 60s));
}

}  // namespace
}  // namespace holdfast::scenarios
