// Notifications that are lost (see missed_wakeups.h), and permits that nobody tells of.
#include "etcd_testing.h"
#include "missed_wakeups.h"

namespace holdfast::etcd_tests {
namespace {

using test::DeafProxy;

class EtcdNet : public testing::TestWithParam<Kind> {};
HOLDFAST_WITH_EACH_KIND(EtcdNet);

TEST_P(EtcdNet, AWaiterThatHearsNothingLooksForItself) {
  EtcdServer server;
  DeafProxy proxy(server.port(), DeafProxy::Protocol::etcd);
  Client client = open(server.url_of({proxy.port()}));
  Client other = open(server.url());
  expect_a_deaf_waiter_finds_out(client, other, GetParam(), proxy);
}

// The same, and the connection is half-open: nothing comes back, and nobody says why.
TEST_P(EtcdNet, AWaiterOnAHalfOpenConnectionFindsAnotherOne) {
  EtcdServer server;
  Proxy proxy(server.port());
  Client client = open(server.url_of({proxy.port()}) + "?command_timeout_ms=1000");
  Client other = open(server.url());
  expect_a_waiter_finds_out(client, other, GetParam(), 10s, [&] { proxy.cut(); });
}

// An observer has no lease of its own whose renewals would fail: only a look tells it.
TEST(EtcdObserver, AnObserverOnAHalfOpenConnectionIsToldAllTheSame) {
  EtcdServer server;
  Proxy proxy(server.port());
  Client client = open(server.url_of({proxy.port()}) + "?command_timeout_ms=1000");
  Client other = open(server.url());
  Election election = client.election("x");
  std::future<Result<Leader>> observed =
      std::async(std::launch::async, [&] { return election.observe(Token(), 90s); });
  ASSERT_TRUE(eventually([&] { return proxy.connections() > 0; }));
  pause_for(500ms);  // Its watch is up.
  ASSERT_FALSE(contract::is_ready(observed));
  proxy.cut();
  const Lease lease = other.election("x").campaign("me").value();
  ASSERT_EQ(observed.wait_for(40s), std::future_status::ready) << "it is never told";
  const Result<Leader> leader = observed.get();
  ASSERT_EQ(told(leader), "granted");
  EXPECT_EQ(leader->token, lease.token());
}

// given  two permits, both held; a waiter whose entry was executed and not answered; another behind it
// when   a permit frees, and the first waiter reconnects and has it
// then   the second, which waits to be told that the first holds, gets the next permit at once
TEST(EtcdPermits, AWaiterWhoseEntryWasNotAnsweredTellsThoseBehindItThatItHolds) {
  EtcdServer server;
  Proxy proxy(server.port());
  Client unlucky = open(server.url_of({proxy.port()}));
  Client behind = open(server.url());
  Client other = open(server.url());
  const auto permit = [](Client& client) { return client.semaphore("x", 2, kLong); };
  Lease one = permit(other).acquire().value();
  Lease two = permit(other).acquire().value();
  ASSERT_EQ(told(unlucky.mutex("warm", kLong).acquire()), "granted") << "it has a lease";
  proxy.set(Direction::to_client, ProxyMode::drop);
  Pending first = in_thread([&] { return permit(unlucky).try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] { return waiters(other, "x") == 1; }));
  Pending second = in_thread([&] { return permit(behind).try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] { return waiters(other, "x") == 2; }));
  pause_for(300ms);  // It watches the one before it.
  ASSERT_EQ(told(one.release()), "granted");
  proxy.set_both(ProxyMode::pass);
  proxy.reset();
  ASSERT_TRUE(arrives(first));
  const Result<Lease> held = first.get();
  ASSERT_EQ(told(held), "granted");
  pause_for(300ms);
  const BootTime begin = BootClock::now();
  ASSERT_EQ(told(two.release()), "granted");
  ASSERT_TRUE(arrives(second)) << "a permit is idle, and a waiter sleeps";
  EXPECT_EQ(told(second.get()), "granted");
  EXPECT_LT(since(begin), 8s) << "it was not told, and had to look for itself";
}

}  // namespace
}  // namespace holdfast::etcd_tests
