// Notifications that are lost (see missed_wakeups.h), and permits that nobody tells of.
#include "missed_wakeups.h"
#include "zookeeper_testing.h"

namespace holdfast::zookeeper_tests {
namespace {

using test::DeafProxy;

class ZooKeeperNet : public testing::TestWithParam<Kind> {};
HOLDFAST_WITH_EACH_KIND(ZooKeeperNet);

TEST_P(ZooKeeperNet, AWaiterThatHearsNothingLooksForItself) {
  const std::string chroot = fresh_chroot();
  DeafProxy proxy(shared_server().port(), DeafProxy::Protocol::zookeeper);
  Client client = open(url_of(proxy.port(), chroot));
  Client other = open(url_of(shared_server().port(), chroot));
  expect_a_deaf_waiter_finds_out(client, other, GetParam(), proxy);
}

// The same, and the connection is half-open: nothing comes back, and nobody says why.
TEST_P(ZooKeeperNet, AWaiterOnAHalfOpenConnectionFindsAnotherOne) {
  const std::string chroot = fresh_chroot();
  Proxy proxy(shared_server().port());
  Client client = open(url_of(proxy.port(), chroot));
  Client other = open(url_of(shared_server().port(), chroot));
  expect_a_waiter_finds_out(client, other, GetParam(), 10s, [&] { proxy.cut(); });
}

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
