// Every wait has a net: whatever notification is lost, the waiter looks for itself, after half of its
// ttl and at most 15 s (plus a fifth, which is the jitter).
#include "deaf_proxy.h"
#include "etcd_testing.h"

namespace holdfast::etcd_tests {
namespace {

using test::DeafProxy;

enum class Kind { exclusive, shared, permit };

Result<Lease> take(Client& client, Kind kind, const LockOptions& options, Duration patience) {
  switch (kind) {
    case Kind::exclusive: return client.mutex("x", options).try_acquire_for(patience);
    case Kind::shared: return client.shared_mutex("x", options).try_acquire_shared_for(patience);
    case Kind::permit: return client.semaphore("x", 1, options).try_acquire_for(patience);
  }
  return Failure(Code::invalid_argument, "");
}

class EtcdNet : public testing::TestWithParam<Kind> {};

// given  a waiter behind a holder; its connection answers calls, and swallows watch events
// when   the holder releases
// then   the waiter finds that out by itself
TEST_P(EtcdNet, AWaiterThatHearsNothingLooksForItself) {
  EtcdServer server;
  DeafProxy proxy(server.port(), DeafProxy::Protocol::etcd);
  Client client = open(server.url_of({proxy.port()}));
  Client other = open(server.url());
  const Kind first = GetParam() == Kind::permit ? Kind::permit : Kind::exclusive;
  Lease lease = take(other, first, kLong, 0s).value();
  Pending waiting = in_thread([&] { return take(client, GetParam(), {.ttl = 4s}, 60s); });
  ASSERT_TRUE(eventually([&] { return waiters(other, "x") == 1; }));
  pause_for(300ms);  // Its watches are up, and it knows.
  proxy.deafen(true);
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(waiting)) << "stranded";
  EXPECT_EQ(told(waiting.get()), "granted");
  EXPECT_GT(proxy.swallowed(), 0) << "nothing was lost: this test proves nothing";
}

// The same, and the connection is half-open: nothing comes back, and nobody says why.
TEST_P(EtcdNet, AWaiterOnAHalfOpenConnectionFindsAnotherOne) {
  EtcdServer server;
  Proxy proxy(server.port());
  Client client = open(server.url_of({proxy.port()}) + "?command_timeout_ms=1000");
  Client other = open(server.url());
  const Kind first = GetParam() == Kind::permit ? Kind::permit : Kind::exclusive;
  Lease lease = take(other, first, kLong, 0s).value();
  Pending waiting = in_thread([&] { return take(client, GetParam(), {.ttl = 10s}, 60s); });
  ASSERT_TRUE(eventually([&] { return waiters(other, "x") == 1; }));
  proxy.cut();
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(waiting)) << "stranded";
  EXPECT_EQ(told(waiting.get()), "granted");
}

std::string name_of_kind(const testing::TestParamInfo<Kind>& kind) {
  switch (kind.param) {
    case Kind::exclusive: return "Exclusive";
    case Kind::shared: return "Shared";
    case Kind::permit: return "Permit";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(, EtcdNet, testing::Values(Kind::exclusive, Kind::shared, Kind::permit),
                         name_of_kind);

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
