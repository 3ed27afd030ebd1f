// Slots, and their moves from node to node.
#include <set>

#include "redis_cluster.h"
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

using test::RedisCluster;

// A cluster of its own takes half a second; these tests leave it as they found it.
class RedisClusterTest : public testing::Test {
 protected:
  static RedisCluster& cluster() {
    static RedisCluster shared;
    return shared;
  }
  static Client client() { return open(cluster().url()); }
  // A master other than the one that has the slot.
  static int another_than(int master) { return (master + 1) % RedisCluster::kMasters; }
};

TEST_F(RedisClusterTest, NamesWithAnyBracesAreInTheirSlots) {
  Client ours = client();
  std::vector<Lease> leases;
  const std::vector<std::string> names{
      "plain",  "{tag}",   "a{tag}b", "{}",      "{}{tag}",
      "{",      "}",       "}{",      "{{tag}}", "a}b",
      "{a}{b}", "{a",      "a}",      "{a}}",    "a{}b{c}",
      "{ }",    "\n{x\n}", "{}}",     "}{a}",    "a{b}c{d",
      "{{}",    "{{}}",    "x:hf",    "{x}:y",   std::string(2000, '{')};
  for (const std::string& name : names) {
    Result<Lease> lease = ours.mutex(name, kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted") << name;
    RedisServer& node = cluster().node(cluster().master_of(cluster().slot_of(name)));
    EXPECT_EQ(node.command({"EXISTS", name}), "1") << name;
    EXPECT_EQ(visible_token(ours, name), lease->token().value()) << name;
    // With readers and a queue all five keys are used.
    Result<Lease> reader = ours.shared_mutex(name + "r", kLong).try_acquire_shared();
    EXPECT_EQ(told(reader), "granted") << name;
    EXPECT_EQ(outcome_of(ours.mutex(name + "r", kLong).try_acquire_for(1ms)), "busy") << name;
    leases.push_back(std::move(*lease));
  }
  std::set<std::string> listed;
  for (const LockInfo& info : ours.list().value()) listed.insert(info.name.bytes());
  EXPECT_THAT(listed, testing::IsSupersetOf(names)) << "locks of all nodes are shown";
}

// Where the server makes sharded channels of all (ElastiCache Serverless), a script may publish in its own slot only.
TEST_F(RedisClusterTest, AWaiterIsToldOnAChannelInTheSlotOfItsLock) {
  Client holder = client();
  Client other = client();
  for (const std::string name : {"plain", "a{tag}b", "with space", "a}b"}) {
    Result<Lease> lease = holder.mutex(name, kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted") << name;
    Pending waiter = in_thread([&] { return other.mutex(name, kLong).try_acquire_for(20s); });
    ASSERT_TRUE(eventually([&] { return holder.inspect(name)->waiters.size() == 1; })) << name;
    const int slot = cluster().slot_of(name);
    RedisServer& node = cluster().node(cluster().master_of(slot));
    const std::string channel = node.command({"PUBSUB", "CHANNELS", "holdfast:*:{*}"});
    EXPECT_NE(channel, "") << name;
    EXPECT_EQ(cluster().slot_of(channel), slot) << channel << " for " << name;
    EXPECT_TRUE(lease->release().ok());
    EXPECT_EQ(told(waiter.get()), "granted") << name;
    other = client();  // Its channels go with it.
    ASSERT_TRUE(
        eventually([&] { return node.command({"PUBSUB", "CHANNELS", "holdfast:*:{*}"}).empty(); }));
  }
}

TEST_F(RedisClusterTest, ASlotThatMovedIsFollowed) {
  Client ours = client();
  Result<Lease> lease = ours.mutex("moving", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  const int slot = cluster().slot_of("moving");
  cluster().move_slot(slot, another_than(cluster().master_of(slot)));
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_EQ(visible_token(ours, "moving"), lease->token().value());
  cluster().move_slot(slot, another_than(cluster().master_of(slot)));
  const Token before = lease->token();
  EXPECT_EQ(told(lease->release()), "granted");
  cluster().move_slot(slot, another_than(cluster().master_of(slot)));
  Result<Lease> next = ours.mutex("moving", kLong).try_acquire();
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), before);
}

// In the middle of a move some keys are here and some are there.
TEST_F(RedisClusterTest, ASlotOnItsWayIsWaitedFor) {
  Client ours = client();
  Client other = client();
  ASSERT_EQ(told(ours.mutex("ask{way}", kLong).try_acquire()), "granted");  // leaves its token
  Result<Lease> lease = ours.mutex("held{way}", kLong).try_acquire();
  Result<Lease> reader = ours.shared_mutex("read{way}", kLong).try_acquire_shared();
  ASSERT_EQ(told(lease), "granted");
  ASSERT_EQ(told(reader), "granted");
  const int slot = cluster().slot_of("{way}");
  const int from = cluster().master_of(slot);
  cluster().begin_moving(slot, another_than(from));
  // Keys that are at neither node make both refuse a script: one has to wait, or is told why.
  Client hasty = open(cluster().url() + "?command_timeout_ms=300");
  const Result<Lease> fresh = hasty.mutex("fresh{way}", kLong).try_acquire();
  if (!fresh) {
    EXPECT_EQ(outcome_of(fresh), "unreachable");
    EXPECT_THAT(told(fresh), HasSubstr("slot"));
  }
  cluster().move_keys(slot, 1);  // a lock is torn apart
  std::vector<Pending> calls;
  for (const char* name : {"ask{way}", "fresh{way}", "other{way}"}) {
    calls.push_back(in_thread([&, name] { return other.mutex(name, kLong).try_acquire_for(20s); }));
  }
  std::future<Result<void>> renewing =
      std::async(std::launch::async, [&] { return lease->renew(); });
  std::future<Result<void>> releasing =
      std::async(std::launch::async, [&] { return reader->release(); });
  pause_for(200ms);
  cluster().finish_moving(slot);
  for (Pending& call : calls) {
    ASSERT_TRUE(arrives(call));
    EXPECT_EQ(told(call.get()), "granted");
  }
  EXPECT_EQ(told(renewing.get()), "granted");
  EXPECT_EQ(told(releasing.get()), "granted");
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(visible_token(other, "held{way}"), lease->token().value());
  EXPECT_EQ(told(lease->release()), "granted");
  for (const char* name : {"ask{way}", "held{way}", "read{way}"}) {
    expect_free_soon(other, name, 2s);
  }
}

TEST_F(RedisClusterTest, WaitersFollowTheirSlot) {
  Client ours = client();
  Client other = client();
  Result<Lease> lease = ours.mutex("followed", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  std::vector<Pending> pending;
  for (std::size_t i = 0; i < 3; ++i) {
    pending.push_back(
        in_thread([&] { return other.mutex("followed", kLong).try_acquire_for(30s); }));
  }
  ASSERT_TRUE(eventually([&] { return waiters(ours, "followed") == 3; }));
  const int slot = cluster().slot_of("followed");
  cluster().move_slot(slot, another_than(cluster().master_of(slot)));
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease->release()), "granted");
  int served = 0;
  EXPECT_TRUE(eventually([&] {
    for (Pending& each : pending) {
      if (!each.valid() || !contract::is_ready(each)) continue;
      EXPECT_EQ(told(each.get()), "granted");  // and given back
      ++served;
    }
    return served == 3;
  }));
  EXPECT_LT(since(released), 8s);
  EXPECT_TRUE(ours.inspect("followed").value().waiters.empty()) << "a ghost is left in the queue";
}

// A claim that gave up after its slot moved leaves nothing in the queue that moved with it.
TEST_F(RedisClusterTest, AWaiterThatGivesUpAfterAMoveLeavesNoGhost) {
  Client ours = client();
  Client other = client();
  Result<Lease> lease = ours.mutex("ghost", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  std::stop_source stop;
  Pending waiting =
      in_thread([&] { return other.mutex("ghost", kLong).acquire(stop.get_token()); });
  ASSERT_TRUE(eventually([&] { return waiters(ours, "ghost") == 1; }));
  const int slot = cluster().slot_of("ghost");
  cluster().move_slot(slot, another_than(cluster().master_of(slot)));
  stop.request_stop();
  EXPECT_EQ(outcome_of(waiting.get()), "cancelled");
  EXPECT_EQ(waiters(ours, "ghost"), 0U);
}

TEST_F(RedisClusterTest, OneServerIsNoClusterAndOneNodeIsNoServer) {
  RedisServer single;
  Client mistaken = open("redis+cluster://127.0.0.1:" + std::to_string(single.port()));
  const std::string said = told(mistaken.mutex("x", kLong).try_acquire());
  EXPECT_THAT(said, HasSubstr("misconfigured"));
  EXPECT_THAT(said, HasSubstr("is no cluster"));

  Client narrow = open(cluster().node(0).url());
  std::string moved;
  for (int i = 0; i < 20 && moved.empty(); ++i) {
    const Result<Lease> lease = narrow.mutex("x" + std::to_string(i), kLong).try_acquire();
    if (!lease) moved = told(lease);
  }
  EXPECT_THAT(moved, HasSubstr("misconfigured"));
  EXPECT_THAT(moved, HasSubstr("redis+cluster://"));
}

TEST(RedisClusterFailover, ADeadMasterIsReplacedAndItsLocksWorkAgain) {
  RedisCluster cluster;
  Client ours = open(cluster.url());
  const int slot = cluster.slot_of("x");
  Token before;
  {
    Result<Lease> lease = ours.mutex("x", kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    before = lease->token();
  }
  Result<Lease> held = ours.mutex("{x}held", kLong).try_acquire();
  ASSERT_EQ(told(held), "granted");
  Client other = open(cluster.url());
  Pending waiting = in_thread([&] { return other.mutex("{x}held", kLong).try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return waiters(ours, "{x}held") == 1; }));
  pause_for(50ms);  // The replica has it by then.
  cluster.kill_master_of(slot);
  Result<Lease> lease = ours.mutex("x", kLong).try_acquire_for(20s);
  ASSERT_EQ(told(lease), "granted");
  EXPECT_GT(lease->token(), before);
  EXPECT_EQ(told(held->renew()), "granted");
  EXPECT_EQ(told(held->release()), "granted");
  EXPECT_EQ(told(waiting.get()), "granted");
  EXPECT_EQ(told(ours.list()), "granted");
}

}  // namespace
}  // namespace holdfast::redis_tests
