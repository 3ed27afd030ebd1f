// Watches that are kept for the next wait: they must neither miss a hand-over nor stay for ever.
#include "etcd_testing.h"
#include "http_get.h"

namespace holdfast::etcd_tests {
namespace {

// As the server counts them.
int watches(const EtcdServer& server) {
  const std::string name = "\netcd_debugging_mvcc_watcher_total ";
  const std::string metrics = bench::http_get(server.port(), "/metrics");
  const std::size_t at = metrics.find(name);
  return at == std::string::npos ? -1 : std::stoi(metrics.substr(at + name.size()));
}

// `waiter` gets the lock after `holder`.
void hand_over(Client& holder, Client& waiter, const std::string& name) {
  Lease lease = holder.mutex(name, kLong).acquire().value();
  Pending next = in_thread([&] { return waiter.mutex(name, kLong).try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return waiters(holder, name) == 1; }));
  ASSERT_EQ(told(lease.release()), "granted");
  Result<Lease> got = next.get();
  ASSERT_EQ(told(got), "granted");
  ASSERT_EQ(told(got->release()), "granted");
}

TEST(EtcdWatches, AKeptWatchMissesNoHandOverAndLetsNobodyInTwice) {
  EtcdServer server;
  std::atomic<int> inside = 0;
  std::atomic<int> sections = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Client client = open(server.url());
      Mutex mutex = client.mutex("x", kLong);
      for (int n = 0; n < 100; ++n) {
        Result<Lease> lease = mutex.try_acquire_for(20s);
        ASSERT_EQ(told(lease), "granted") << "client " << i << ", section " << n;
        EXPECT_EQ(++inside, 1);
        --inside;
        ++sections;
        ASSERT_EQ(told(lease->release()), "granted");
        // Not always behind the same one.
        if (n % (i + 2) == 0) pause_for(std::chrono::milliseconds(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sections, 400);
}

TEST(EtcdWatches, AWatchThatTellsNothingUsefulIsGivenUp) {
  EtcdServer server;
  Client holder = open(server.url());
  Client waiter = open(server.url());
  hand_over(holder, waiter, "x");
  EXPECT_GT(watches(server), 0) << "they are kept for the next wait";
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(told(holder.mutex("x", kLong).acquire()->release()), "granted");
    ASSERT_EQ(told(waiter.mutex("x", kLong).acquire()->release()), "granted");
  }
  EXPECT_TRUE(eventually([&] { return watches(server) == 0; })) << watches(server);
}

TEST(EtcdWatches, OfManyLocksOnlySomeAreKept) {
  EtcdServer server;
  Client holder = open(server.url());
  Client waiter = open(server.url());
  for (int i = 0; i < 50; ++i) hand_over(holder, waiter, "x" + std::to_string(i));
  EXPECT_TRUE(eventually([&] { return watches(server) <= 64; })) << watches(server);
}

// One server by two ways. The first is slow: the release is executed when the lock has long been
// taken again, by the same client, which would like to use the same key.
TEST(EtcdPlaces, AReleaseThatIsExecutedLateDoesNotEndTheNextHold) {
  EtcdServer server;
  Proxy slow(server.port());
  Client other = open(server.url());
  std::optional<Client> client;
  while (slow.connections() == 0) {  // It begins with either of the two.
    client.emplace(open(server.url_of({slow.port(), server.port()}) + "?command_timeout_ms=1200"));
    EXPECT_EQ(told(client->mutex("warm", kLong).try_acquire()), "granted");
  }
  Lease first = client->mutex("x", kLong).try_acquire().value();
  const std::int64_t delivered = slow.delivered(Direction::to_server);
  slow.set(Direction::to_server, ProxyMode::delay, 3s);
  ASSERT_EQ(told(first.release()), "granted") << "by the other way";
  Result<Lease> second = client->mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(second), "granted");
  ASSERT_EQ(slow.delivered(Direction::to_server), delivered) << "the machine is too slow";
  ASSERT_TRUE(eventually([&] { return slow.delivered(Direction::to_server) > delivered; }));
  pause_for(300ms);
  const LockInfo info = other.inspect("x").value();
  ASSERT_EQ(info.holders.size(), 1U) << "the late release took the next hold away";
  EXPECT_EQ(info.holders[0].token, second->token());
  EXPECT_EQ(told(second->renew()), "granted");
  EXPECT_EQ(told(second->release()), "granted");
}

}  // namespace
}  // namespace holdfast::etcd_tests
