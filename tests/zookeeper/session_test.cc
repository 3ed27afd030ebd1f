// Sessions that move, that expire, and those whose server is cut off: nobody believes in a lock
// that another can have, and nobody loses one because a server went away.
#include "child.h"
#include "zookeeper_testing.h"

namespace holdfast::zookeeper_tests {
namespace {

using contract::Child;

TEST(ZooKeeperSession, ABrokenConnectionIsNoExpiredSession) {
  Proxy proxy(shared_server().port());
  const std::string chroot = fresh_chroot();
  Client client = open(url_of(proxy.port(), chroot));
  Client other = open(url_of(shared_server().port(), chroot));
  const Lease lease = client.mutex("x", {.ttl = 3s}).acquire().value();
  for (int i = 0; i < 5; ++i) {
    proxy.reset();
    pause_for(100ms);
    EXPECT_EQ(outcome_of(other.mutex("x").try_acquire()), "busy");
  }
  pause_for(3s);
  EXPECT_TRUE(lease.held()) << "it moved to a new connection and was renewed there";
  EXPECT_FALSE(lease.lost().stop_requested());
}

TEST(ZooKeeperSession, AWaitSurvivesBrokenConnections) {
  Proxy proxy(shared_server().port());
  const std::string chroot = fresh_chroot();
  Client client = open(url_of(proxy.port(), chroot));
  Client other = open(url_of(shared_server().port(), chroot));
  Lease lease = other.mutex("x", kLong).acquire().value();
  Mutex mutex = client.mutex("x", kLong);
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(other, "x", 1));
  const LockInfo before = other.inspect("x").value();
  for (int i = 0; i < 5; ++i) {
    proxy.reset();
    pause_for(50ms);
  }
  EXPECT_EQ(other.inspect("x").value().waiters.at(0).id, before.waiters.at(0).id);
  // And one in which the news of the release is lost.
  proxy.set(Direction::to_client, ProxyMode::drop);
  ASSERT_TRUE(lease.release());
  pause_for(100ms);
  proxy.set(Direction::to_client, ProxyMode::pass);
  proxy.reset();
  ASSERT_TRUE(arrives(waiting)) << "the end of the one before was missed";
  EXPECT_EQ(told(waiting.get()), "granted");
}

TEST(ZooKeeperSession, AnExpiredSessionIsAnExpiredLockAndIsToldAtOnce) {
  Proxy proxy(shared_server().port());
  const std::string chroot = fresh_chroot();
  Client client = open(url_of(proxy.port(), chroot));
  Client other = open(url_of(shared_server().port(), chroot));
  const Lease lease = client.mutex("x", {.ttl = 1s}).acquire().value();
  proxy.set_both(ProxyMode::hold);
  const Result<Lease> next = other.mutex("x", kLong).try_acquire_for(20s);
  ASSERT_EQ(told(next), "granted");
  EXPECT_FALSE(lease.held()) << "two hold it";
  EXPECT_TRUE(lease.lost().stop_requested());
  EXPECT_GT(next->token(), lease.token());
  proxy.set_both(ProxyMode::pass);
  // And the client goes on with another session.
  EXPECT_EQ(told(client.mutex("y", {.ttl = 1s}).try_acquire_for(20s)), "granted");
  EXPECT_TRUE(next->held());
}

TEST(ZooKeeperSession, AWaiterWhoseSessionExpiredStandsInTheQueueAgain) {
  Proxy proxy(shared_server().port());
  const std::string chroot = fresh_chroot();
  Client client = open(url_of(proxy.port(), chroot));
  Client other = open(url_of(shared_server().port(), chroot));
  Lease lease = other.mutex("x", kLong).acquire().value();
  Mutex mutex = client.mutex("x", {.ttl = 1s});
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(other, "x", 1));
  proxy.set_both(ProxyMode::drop);
  ASSERT_TRUE(queue_reaches(other, "x", 0)) << "its session should have expired";
  proxy.set_both(ProxyMode::pass);
  proxy.reset();
  ASSERT_TRUE(queue_reaches(other, "x", 1)) << "it is not in the queue any more";
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

TEST(ZooKeeperSession, AClientThatIsClosedWhileItLooksForAServerEndsCleanly) {
  for (int i = 0; i < 4; ++i) {
    Proxy proxy(shared_server().port());
    Client client = open(url_of(proxy.port(), fresh_chroot()), {.release_timeout = 200ms});
    const Lease lease = client.mutex("x", kLong).acquire().value();
    proxy.set_both(ProxyMode::hold);
    proxy.reset();  // It connects again, and is not welcomed.
    pause_for(20ms * i);
  }
}

TEST(ZooKeeperSession, AReplyToAcquireThatIsLostIsFoundAgainByItsClaim) {
  Proxy proxy(shared_server().port());
  const std::string chroot = fresh_chroot();
  Client client = open(url_of(proxy.port(), chroot));
  Client other = open(url_of(shared_server().port(), chroot));
  ASSERT_TRUE(client.mutex("x", kLong).try_acquire());  // It has a connection and a session.
  proxy.set(Direction::to_client, ProxyMode::drop);
  Mutex mutex = client.mutex("x", kLong);
  Pending asking = in_thread([&] { return mutex.try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return other.inspect("x").value().holders.size() == 1; }));
  const Token first = other.inspect("x").value().holders.at(0).token;
  proxy.set(Direction::to_client, ProxyMode::pass);
  proxy.reset();
  ASSERT_TRUE(arrives(asking));
  Result<Lease> lease = asking.get();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(lease->token(), first) << "it is in the queue twice";
  EXPECT_EQ(other.inspect("x").value().waiters.size(), 0U);
  ASSERT_TRUE(lease->release());
  expect_free_soon(other, "x");
}

TEST(ZooKeeperSession, AReplyToReleaseThatIsLostIsAskedForAgain) {
  Proxy proxy(shared_server().port());
  const std::string chroot = fresh_chroot();
  Client client = open(url_of(proxy.port(), chroot));
  Client other = open(url_of(shared_server().port(), chroot));
  Lease lease = client.mutex("x", kLong).acquire().value();
  proxy.set(Direction::to_client, ProxyMode::drop);
  auto releasing = std::async(std::launch::async, [&] { return lease.release(); });
  ASSERT_TRUE(eventually([&] { return other.inspect("x").value().holders.empty(); }));
  proxy.set(Direction::to_client, ProxyMode::pass);
  proxy.reset();
  EXPECT_EQ(told(releasing.get()), "granted");
}

// Scenario 2 and 1 from the client's side: its process stands still for longer than its session.
TEST(ZooKeeperSession, AClientThatWasStoppedLongerThanItsSessionKnowsWhenItGoesOn) {
  const std::string url = url_of(shared_server().port(), fresh_chroot());
  Client client = open(url);
  Child child(url);
  ASSERT_THAT(child.ask("acquire x 1000"), StartsWith("granted"));
  child.stop();
  const Result<Lease> next = client.mutex("x", kLong).try_acquire_for(20s);
  ASSERT_EQ(told(next), "granted");
  child.send("held");
  child.resume();
  EXPECT_EQ(child.answer(), "no");
  EXPECT_EQ(child.ask("renew"), "not_held");
  EXPECT_EQ(child.ask("release"), "not_held");
  EXPECT_TRUE(next->held());
}

TEST(ZooKeeperSession, AServerThatIsRestartedKeepsItsLocks) {
  ZooKeeperServer server;
  Client client = open(server.url());
  Lease lease = client.mutex("x", kLong).acquire().value();
  Mutex mutex = client.mutex("x", kLong);
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  const Token token = lease.token();
  server.restart();
  EXPECT_TRUE(eventually([&] { return lease.renew().ok(); }));
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(client.inspect("x").value().holders.at(0).token, token);
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(waiting));
  const Result<Lease> next = waiting.get();
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), token);
}

TEST(ZooKeeperSession, AServerKilledInTheMiddleOfAcquiringStrandsNothing) {
  ZooKeeperServer server;
  Client client = open(server.url());
  Client other = open(server.url());
  ASSERT_TRUE(client.mutex("x", {.ttl = 2s}).try_acquire());
  std::atomic<bool> over = false;
  std::atomic<int> inside = 0;
  std::atomic<int> grants = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Mutex mutex = (i % 2 == 0 ? client : other).mutex("x", {.ttl = 2s});
      while (!over) {
        const Result<Lease> lease = mutex.try_acquire_for(1s);
        if (!lease) continue;
        const bool first = ++inside == 1;
        EXPECT_TRUE(first || !lease->held());
        ++grants;
        --inside;
      }
    });
  }
  for (int i = 0; i < 3; ++i) {
    pause_for(300ms);
    server.kill();
    server.restart();
    const int before = grants;
    EXPECT_TRUE(eventually([&] { return grants > before + 10; })) << "nobody gets in any more";
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  expect_free_soon(client, "x");
  EXPECT_TRUE(eventually([&] { return client.inspect("x").value().waiters.empty(); }));
}

// Clients with very different ttls do not need very many sessions.
TEST(ZooKeeperSession, ManyTtlsShareAFewSessions) {
  Client client = open(url_of(shared_server().port(), fresh_chroot()));
  std::vector<Lease> leases;
  for (int i = 0; i < 30; ++i) {
    leases.push_back(
        client.mutex("x" + std::to_string(i), {.ttl = 20s + i * 1s}).acquire().value());
  }
  RawClient raw(shared_server().port());
  EXPECT_EQ(client.list().value().size(), leases.size());
  for (Lease& lease : leases) EXPECT_EQ(told(lease.renew()), "granted");
}

TEST(ZooKeeperSession, AHandleLongerThanTheServersKeepSessionsIsRefused) {
  Client client = open(url_of(shared_server().port(), fresh_chroot()));
  const Result<Handle> handle = client.mutex("x", {.ttl = 1h}).acquire_detached({});
  EXPECT_THAT(told(handle), StartsWith("unsupported"));
  EXPECT_THAT(told(handle), HasSubstr("maxSessionTimeout"));
  Lease lease = client.mutex("x", {.ttl = 1h}).acquire().value();
  EXPECT_THAT(told(lease.detach()), StartsWith("unsupported"));
  EXPECT_TRUE(lease.held()) << "it stays as it was";
  EXPECT_EQ(told(lease.release()), "granted");
  expect_free_soon(client, "x");
}

TEST(ZooKeeperSession, ADetachedLockKeepsItsPlaceBeforeThoseWhoWait) {
  Client client = open(url_of(shared_server().port(), fresh_chroot()));
  Lease lease = client.mutex("x", kLong).acquire().value();
  Mutex mutex = client.mutex("x", kLong);
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  const Token token = lease.token();
  const Handle handle = lease.detach().value();
  pause_for(100ms);
  EXPECT_FALSE(contract::is_ready(waiting)) << "it got in while the node moved";
  EXPECT_EQ(client.inspect("x").value().holders.at(0).token, token);
  EXPECT_EQ(told(client.evict("x", Token(token.value() + 1))).substr(0, 8), "not_held");
  EXPECT_EQ(told(client.release(handle)), "granted");
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
