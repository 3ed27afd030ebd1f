// Rows 1, 2, 13, 16 and 17 on etcd: pauses of the holder, of the server and of a waiter, and a
// client on the minority's side.
#include "child.h"
#include "etcd_server.h"
#include "proxy.h"
#include "scenario_testing.h"

namespace holdfast::scenarios {
namespace {

using contract::Child;
using test::EtcdServer;
using test::Proxy;
using test::ProxyMode;

constexpr LockOptions kBrief{.ttl = 2s};

class EtcdScenarioTest : public testing::Test {
 protected:
  EtcdServer server_;
  Judge judge_;
};

// Row 1.
// given  A holds, and has just seen that it does
// when   it is paused for longer than its ttl; B acquires and works; A wakes and writes
// then   without a fence an update is lost, with one none is: no lock can prevent that
TEST_F(EtcdScenarioTest, APauseAfterTheLastCheckIsForTheFence) {
  Proxy way_of_a(server_.port());
  Client a = open(server_.url_of({way_of_a.port()}) + "?command_timeout_ms=500");
  Client b = open(server_.url());
  const Lease of_a = a.mutex("x", kBrief).try_acquire().value();
  way_of_a.set_both(ProxyMode::hold);  // It renews nothing: for etcd it is as good as paused.
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire_for(30s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_GT(of_b->token(), of_a.token());
  // It looked before its pause, and does not look again.
  const Judge::Worker sleeper{.held = [] { return true; }, .token = of_a.token()};
  EXPECT_EQ(judge_.judge(sleeper, Judge::worker(of_b)), kOverlapWithoutHarmToTheFenced);
}

// Row 2.
// given  A's answers are in flight
// when   it is paused before its check for longer than its ttl, and B acquires
// then   A, who checks when it wakes, does not work
TEST_F(EtcdScenarioTest, APauseBeforeTheCheckIsNoticed) {
  Child child(server_.url());
  ASSERT_THAT(child.ask("acquire x 2000"), testing::StartsWith("granted"));
  child.stop();
  Client b = open(server_.url());
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire_for(30s);
  ASSERT_EQ(told(of_b), "granted");
  child.resume();
  EXPECT_EQ(child.ask("held"), "no");
  EXPECT_TRUE(of_b->held());
}

// Row 13.
// given  A holds, through a member that is then cut off from the majority
// when   it goes on renewing there
// then   it gets no answer that counts and loses the lock in time; B, at the majority, gets it after
//        that
TEST(EtcdMinorityTest, TheClientOnTheMinoritysSideLosesItsLockBeforeOthersGetIt) {
  EtcdServer server({.count = 3});
  const std::size_t leader = server.leader();
  Client a = open(server.url_of({server.port(leader)}) + "?command_timeout_ms=500");
  Lease of_a = a.mutex("x", kBrief).try_acquire().value();
  std::vector<int> others;
  for (std::size_t member = 0; member < 3; ++member) {
    if (member != leader) others.push_back(server.port(member));
  }
  server.pause(leader);  // nothing gets from it to the others, nor back
  Client b = open(server.url_of(others));
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire_for(30s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_FALSE(of_a.held());
  Judge judge;
  EXPECT_EQ(judge.judge(Judge::worker(of_a), Judge::worker(of_b)), kSafe);
  server.resume(leader);
}

// Row 16.
// given  A holds and is well
// when   the server is paused for longer than the ttl, and goes on
// then   A has stopped by its own clock before; etcd drops the lease, and B gets the lock
TEST_F(EtcdScenarioTest, AServerThatIsPausedForLongerThanTheTtlLetsNobodyOverlap) {
  Client a = open(server_.url() + "?command_timeout_ms=500");
  Client b = open(server_.url());
  Lease of_a = a.mutex("x", kBrief).try_acquire().value();
  server_.pause();
  ASSERT_TRUE(eventually([&] { return of_a.lost().stop_requested(); }));
  EXPECT_FALSE(of_a.held());
  pause_for(1s);
  server_.resume();
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire_for(30s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_EQ(judge_.judge(Judge::worker(of_a), Judge::worker(of_b)), kSafe);
}

// Row 17.
// given  A holds, B and C wait in this order
// when   B's session dies in the queue
// then   C does not take that for its turn: it gets the lock when A lets go, and not before
TEST_F(EtcdScenarioTest, ADeadWaiterIsSkippedAndIsNobodysTurn) {
  Client a = open(server_.url());
  Client c = open(server_.url());
  Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  Child b(server_.url());
  b.send("acquire x 2000");
  ASSERT_TRUE(eventually([&] { return a.inspect("x")->waiters.size() == 1; }));
  Mutex mutex = c.mutex("x", kUnrenewed);
  Pending waiting = in_thread([&] { return mutex.try_acquire_for(40s); });
  ASSERT_TRUE(eventually([&] { return a.inspect("x")->waiters.size() == 2; }));
  b.kill();
  ASSERT_TRUE(eventually([&] { return a.inspect("x")->waiters.size() == 1; }));
  pause_for(300ms);
  EXPECT_FALSE(contract::is_ready(waiting)) << "its predecessor's end was not its turn";
  EXPECT_TRUE(of_a.held());
  ASSERT_TRUE(of_a.release());
  EXPECT_EQ(told(waiting.get()), "granted");
}

}  // namespace
}  // namespace holdfast::scenarios
