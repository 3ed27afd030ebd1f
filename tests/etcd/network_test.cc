// The network between a client and etcd: lost answers, silence, broken connections.
#include "etcd_testing.h"

namespace holdfast::etcd_tests {
namespace {

TEST(EtcdNetwork, AnAnswerThatIsLostIsAskedForAgain) {
  EtcdServer server;
  Proxy proxy(server.port());
  Client client = open(server.url_of({proxy.port()}));
  Client other = open(server.url());
  for (int i = 0; i < 5; ++i) {
    // There is a lease already: what is lost is the answer to the claim itself.
    ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire_for(10s)), "granted");
    proxy.set(Direction::to_client, ProxyMode::drop);
    Pending pending = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(20s); });
    ASSERT_TRUE(eventually([&] { return !other.inspect("x")->holders.empty(); }));
    proxy.set_both(ProxyMode::pass);
    proxy.reset();
    Result<Lease> got = pending.get();
    ASSERT_EQ(told(got), "granted");
    EXPECT_EQ(other.inspect("x")->holders.size(), 1U);
    EXPECT_EQ(other.inspect("x")->holders.at(0).token, got->token());
    EXPECT_EQ(told(got->release()), "granted");
    expect_free_soon(other, "x");
  }
}

TEST(EtcdNetwork, ATryWhoseAnswerIsLostIsUnknownAndLeavesNothingBehind) {
  EtcdServer server;
  Proxy proxy(server.port());
  Client client = open(server.url_of({proxy.port()}) + "?command_timeout_ms=400");
  Client other = open(server.url());
  EXPECT_EQ(told(client.mutex("warm", kLong).try_acquire()), "granted");
  proxy.set(Direction::to_client, ProxyMode::drop);
  EXPECT_EQ(outcome_of(client.mutex("x", kLong).try_acquire()), "unknown");
  proxy.set_both(ProxyMode::pass);
  proxy.reset();
  expect_free_soon(other, "x", 20s);
}

// The request is held up on its way, the caller gives up, and then it is executed after all.
TEST(EtcdNetwork, ARequestThatIsExecutedLateIsTakenBackAlthoughTheLeaseLives) {
  EtcdServer server;
  Proxy proxy(server.port());
  const LockOptions brief{.ttl = 2s};
  Client client = open(server.url_of({proxy.port()}) + "?command_timeout_ms=300");
  Client other = open(server.url());
  Lease kept = client.mutex("kept", brief).try_acquire().value();  // keeps the lease alive
  proxy.set(Direction::to_server, ProxyMode::hold);
  EXPECT_EQ(outcome_of(client.mutex("x", brief).try_acquire()), "unknown");
  proxy.set_both(ProxyMode::pass);
  expect_free_soon(other, "x", 20s);
  EXPECT_TRUE(eventually([&] { return kept.renew().ok() || !kept.held(); }));
}

TEST(EtcdNetwork, ABrokenConnectionIsMadeAnewForHoldersAndWaiters) {
  EtcdServer server;
  Proxy proxy(server.port());
  Client client = open(server.url_of({proxy.port()}));
  Client other = open(server.url());
  Lease first = other.mutex("x", kLong).try_acquire().value();
  Lease mine = client.mutex("mine", {.ttl = 5s}).try_acquire().value();
  Pending waiting = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return waiters(other, "x") == 1; }));
  for (int i = 0; i < 3; ++i) {
    proxy.reset();
    pause_for(100ms);
  }
  EXPECT_EQ(told(mine.renew()), "granted");
  EXPECT_EQ(told(first.release()), "granted");
  EXPECT_EQ(told(waiting.get()), "granted");
}

// While it was away the lock came free: nobody will tell it again.
TEST(EtcdNetwork, AHandOverThatWasMissedIsFoundOut) {
  EtcdServer server;
  Proxy proxy(server.port());
  Client client = open(server.url_of({proxy.port()}));
  Client other = open(server.url());
  Lease first = other.mutex("x", kLong).try_acquire().value();
  Pending waiting = in_thread([&] { return client.mutex("x", {.ttl = 10s}).try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return waiters(other, "x") == 1; }));
  proxy.refuse(true);
  proxy.reset();
  EXPECT_EQ(told(first.release()), "granted");
  proxy.refuse(false);
  EXPECT_EQ(told(waiting.get()), "granted");
}

TEST(EtcdNetwork, AClientThatIsCutOffLosesItsLockInTimeAndOthersGetIt) {
  EtcdServer server;
  Proxy proxy(server.port());
  Client client = open(server.url_of({proxy.port()}) + "?command_timeout_ms=500");
  Client other = open(server.url());
  Lease lease = client.mutex("x", {.ttl = 2s}).try_acquire().value();
  proxy.set_both(ProxyMode::hold);
  const Result<Lease> next = other.mutex("x", kLong).try_acquire_for(30s);
  ASSERT_EQ(told(next), "granted");
  EXPECT_FALSE(lease.held());
  EXPECT_TRUE(lease.lost().stop_requested());
  proxy.set_both(ProxyMode::pass);
  EXPECT_EQ(outcome_of(lease.release()), "not_held");
  EXPECT_EQ(other.inspect("x")->holders.size(), 1U);
}

TEST(EtcdNetwork, AServerThatStopsIsWaitedFor) {
  EtcdServer server;
  Client client = open(server.url() + "?command_timeout_ms=500");
  Lease lease = client.mutex("x", {.ttl = 10s}).try_acquire().value();
  server.pause();
  EXPECT_THAT(outcome_of(client.mutex("y", kLong).try_acquire()), AnyOf("unknown", "unreachable"));
  EXPECT_EQ(outcome_of(client.inspect("x")), "unreachable");
  server.resume();
  EXPECT_EQ(told(client.mutex("z", kLong).try_acquire_for(20s)), "granted");
  EXPECT_TRUE(eventually([&] { return lease.renew().ok(); }));
  EXPECT_EQ(told(lease.release()), "granted");
  expect_free_soon(client, "y", 20s);
}

}  // namespace
}  // namespace holdfast::etcd_tests
