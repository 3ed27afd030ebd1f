// Every wait has a net: whatever notification is lost, the waiter looks for itself, after half of its
// ttl and at most 15 s (plus a fifth, which is the jitter).
#include "deaf_proxy.h"
#include "zookeeper_testing.h"

namespace holdfast::zookeeper_tests {
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

class ZooKeeperNet : public testing::TestWithParam<Kind> {};

// given  a waiter behind a holder; its connection answers calls, and swallows watch events
// when   the holder releases
// then   the waiter finds that out by itself
TEST_P(ZooKeeperNet, AWaiterThatHearsNothingLooksForItself) {
  const std::string chroot = fresh_chroot();
  DeafProxy proxy(shared_server().port(), DeafProxy::Protocol::zookeeper);
  Client client = open(url_of(proxy.port(), chroot));
  Client other = open(url_of(shared_server().port(), chroot));
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
TEST_P(ZooKeeperNet, AWaiterOnAHalfOpenConnectionFindsAnotherOne) {
  const std::string chroot = fresh_chroot();
  Proxy proxy(shared_server().port());
  Client client = open(url_of(proxy.port(), chroot));
  Client other = open(url_of(shared_server().port(), chroot));
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

INSTANTIATE_TEST_SUITE_P(, ZooKeeperNet,
                         testing::Values(Kind::exclusive, Kind::shared, Kind::permit),
                         name_of_kind);

// Of two permits the first two waiters watch the whole queue; those behind them watch the one two places
// before them, which says when it holds.
//
// given  a waiter whose entry was executed and not answered, and two behind it
// when   a permit frees, and the first waiter reconnects and has it
// then   the last, which waits to be told of that, gets its permit as soon as one is free
TEST(ZooKeeperPermits, AWaiterWhoseEntryWasNotAnsweredTellsThoseBehindItThatItHolds) {
  const std::string chroot = fresh_chroot();
  Proxy proxy(shared_server().port());
  Client unlucky = open(url_of(proxy.port(), chroot));
  Client behind = open(url_of(shared_server().port(), chroot));
  Client other = open(url_of(shared_server().port(), chroot));
  const auto permit = [](Client& client) { return client.semaphore("x", 2, kLong); };
  Lease one = permit(other).acquire().value();
  Lease two = permit(other).acquire().value();
  ASSERT_EQ(told(unlucky.mutex("warm", kLong).acquire()), "granted") << "it has a session";
  proxy.set(Direction::to_client, ProxyMode::drop);
  Pending first = in_thread([&] { return permit(unlucky).try_acquire_for(60s); });
  ASSERT_TRUE(queue_reaches(other, "x", 1));
  Pending second = in_thread([&] { return permit(behind).try_acquire_for(60s); });
  ASSERT_TRUE(queue_reaches(other, "x", 2));
  Pending third = in_thread([&] { return permit(behind).try_acquire_for(60s); });
  ASSERT_TRUE(queue_reaches(other, "x", 3));
  pause_for(300ms);  // It watches the first.
  ASSERT_EQ(told(one.release()), "granted");
  proxy.set_both(ProxyMode::pass);
  proxy.reset();
  ASSERT_TRUE(arrives(first));
  const Result<Lease> held = first.get();
  ASSERT_EQ(told(held), "granted");
  ASSERT_EQ(told(two.release()), "granted");
  ASSERT_TRUE(arrives(second));
  Result<Lease> next = second.get();
  ASSERT_EQ(told(next), "granted");
  pause_for(300ms);
  const BootTime begin = BootClock::now();
  ASSERT_EQ(told(next->release()), "granted");
  ASSERT_TRUE(arrives(third)) << "a permit is idle, and a waiter sleeps";
  EXPECT_EQ(told(third.get()), "granted");
  EXPECT_LT(BootClock::now() - begin, 8s) << "it was not told, and had to look for itself";
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
