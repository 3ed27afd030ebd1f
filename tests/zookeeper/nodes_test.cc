// The nodes in the tree, and other programs that change them.
#include "zookeeper_testing.h"

namespace holdfast::zookeeper_tests {
namespace {

class ZooKeeperNodes : public testing::Test {
 protected:
  Client open_one() const { return open(url_of(server_.port(), chroot_)); }
  std::vector<std::string> claims(const std::string& lock) {
    return raw_.children(chroot_ + '/' + lock);
  }
  std::string path_of(const std::string& lock, const std::string& child) const {
    return chroot_ + '/' + lock + '/' + child;
  }

  ZooKeeperServer& server_ = shared_server();
  const std::string chroot_ = fresh_chroot();
  RawClient raw_{server_.port()};
};

TEST_F(ZooKeeperNodes, AChrootThatIsNotThereIsMade) {
  Client client = open(url_of(server_.port(), chroot_ + "/deep/down"));
  EXPECT_TRUE(client.inspect("x").value().holders.empty()) << "looking makes nothing";
  EXPECT_TRUE(client.list().value().empty());
  EXPECT_TRUE(raw_.children(chroot_).empty());
  EXPECT_EQ(told(client.mutex("x").try_acquire()), "granted");
  EXPECT_THAT(raw_.children(chroot_ + "/deep/down"), testing::ElementsAre("x"));
}

TEST_F(ZooKeeperNodes, ASimpleNameIsItsOwnPath) {
  Client client = open_one();
  const Lease lease = client.mutex("nightly job", kLong).acquire().value();
  const std::vector<std::string> children = claims("nightly job");
  ASSERT_EQ(children.size(), 1U);
  EXPECT_THAT(children.front(), StartsWith("_c_"));
  EXPECT_THAT(children.front(), HasSubstr("-lock-0000000000"));
  const zk::Reply node = raw_.read(path_of("nightly job", children.front()));
  EXPECT_EQ(static_cast<std::uint64_t>(node.stat->czxid), lease.token().value());
  EXPECT_THAT(node.data, HasSubstr("ttl_ms=30000"));
  // By which others find it there. (Not by the node's name: the claim's id is in it.)
  const std::vector<HolderInfo::Detail> details =
      client.inspect("nightly job").value().holders.at(0).details;
  ASSERT_EQ(details.size(), 1U);
  EXPECT_EQ(details[0].name, "session");
  EXPECT_THAT(shared_server().ask("dump"), HasSubstr(details[0].value));
}

TEST_F(ZooKeeperNodes, WritersAndReadersAreNamedAsCuratorNamesThem) {
  Client client = open_one();
  {
    const Lease writer = client.shared_mutex("x").acquire().value();
    EXPECT_THAT(claims("x"), testing::ElementsAre(HasSubstr("-__WRIT__")));
  }
  const Lease reader = client.shared_mutex("x").acquire_shared().value();
  EXPECT_THAT(claims("x"), testing::ElementsAre(HasSubstr("-__READ__")));
}

TEST(ZooKeeperContainers, LocksThatNobodyUsesAreCleanedUpByTheServerAndComeBack) {
  ZooKeeperServer server({.properties = {"znode.container.checkIntervalMs=200"}});
  RawClient raw(server.port());
  Client client = open(server.url());
  Token last;
  for (int i = 0; i < 3; ++i) {
    Lease lease = client.mutex("x", kLong).acquire().value();
    EXPECT_GT(lease.token(), last);
    last = lease.token();
    ASSERT_TRUE(lease.release());
    EXPECT_TRUE(eventually([&] { return raw.children("/").size() == 1; })) << "only /zookeeper";
  }
}

TEST_F(ZooKeeperNodes, ANameOfAMegabyteIsRefusedAndTheLongestWorks) {
  Client client = open_one();
  EXPECT_THROW(client.mutex(std::string(1 << 20, 'x')), LockError);
  const std::string longest(Name::kMaxBytes, '\xff');  // three times as long in a path
  const Lease lease = client.mutex(longest, kLong).acquire().value();
  EXPECT_EQ(client.list().value().at(0).name.bytes(), longest);
}

TEST_F(ZooKeeperNodes, AParentDeletedUnderneathIsMadeAgainAndTokensGoOnGrowing) {
  Client client = open_one();
  Token last;
  for (int i = 0; i < 4; ++i) {
    const Lease lease = client.mutex("x", kLong).acquire().value();
    EXPECT_GT(lease.token(), last) << "numbers start again with the parent; tokens must not";
    last = lease.token();
    raw_.remove_tree(i % 2 == 0 ? chroot_ + "/x" : chroot_);
  }
}

TEST_F(ZooKeeperNodes, AWaiterWhoseNodeIsDeletedStandsInTheQueueAgain) {
  Client one = open_one();
  Client two = open_one();
  Lease lease = one.mutex("x", kLong).acquire().value();
  Mutex mutex = two.mutex("x", {.ttl = 1s});
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(one, "x", 1));
  std::string waiter;
  for (const std::string& child : claims("x")) {
    if (child.ends_with("0000000001")) waiter = child;
  }
  ASSERT_EQ(raw_.remove(path_of("x", waiter)), zk::Error::none);
  EXPECT_TRUE(eventually([&] {
    const std::vector<std::string> now = claims("x");
    return now.size() == 2 && std::find(now.begin(), now.end(), waiter) == now.end();
  })) << "nobody looks after those who wait";
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

// It must not become a holder by the release of the one that was before it: the one behind it does.
TEST_F(ZooKeeperNodes, AWaiterWhoseNodeWasDeletedIsNotLetInByTheOneBeforeIt) {
  Client holder = open_one();
  Client middle = open_one();
  Client last = open_one();
  Lease lease = holder.mutex("x", kLong).acquire().value();
  ASSERT_TRUE(lease.release());
  lease = holder.mutex("x", kLong).acquire().value();
  std::vector<Pending> waiting;
  for (Client* client : {&middle, &last}) {
    waiting.push_back(in_thread([client] { return client->mutex("x", kLong).acquire(); }));
    ASSERT_TRUE(queue_reaches(holder, "x", waiting.size()));
  }
  std::vector<std::string> queue = claims("x");
  std::ranges::sort(queue, {},
                    [](const std::string& name) { return name.substr(name.size() - 10); });
  ASSERT_EQ(raw_.remove(path_of("x", queue.at(1))), zk::Error::none);
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(waiting[1]));
  Result<Lease> behind = waiting[1].get();
  ASSERT_EQ(told(behind), "granted");
  ASSERT_TRUE(queue_reaches(holder, "x", 1)) << "it stands in the queue again";
  EXPECT_FALSE(contract::is_ready(waiting[0])) << "two hold";
  EXPECT_TRUE(behind->held());
  ASSERT_TRUE(behind->release());
  ASSERT_TRUE(arrives(waiting[0]));
  EXPECT_EQ(told(waiting[0].get()), "granted");
}

// Of many claims of one client only the first look; who rests behind them is served all the same.
TEST_F(ZooKeeperNodes, AWaiterFarBehindWhoseNodeWasDeletedIsServedInTheEnd) {
  Client holder = open_one();
  Client client = open_one();
  Lease lease = holder.mutex("x", kLong).acquire().value();
  constexpr std::size_t kWaiters = 80;
  std::atomic<std::size_t> served = 0;
  std::atomic<int> inside = 0;
  Mutex mutex = client.mutex("x", kLong);
  for (std::size_t i = 0; i < kWaiters; ++i) {
    mutex.async_acquire().then([&](Result<Lease> got) {
      EXPECT_EQ(told(got), "granted");
      EXPECT_EQ(++inside, 1);
      --inside;
      ++served;
    });
  }
  ASSERT_TRUE(queue_reaches(holder, "x", kWaiters));
  for (const std::string& child : claims("x")) {
    const bool far = child.ends_with("70") || child.ends_with("78");
    if (!far) continue;
    ASSERT_EQ(raw_.remove(path_of("x", child)), zk::Error::none);
  }
  ASSERT_TRUE(lease.release());
  EXPECT_TRUE(eventually([&] { return served == kWaiters; }, 60s)) << served;
  expect_free_soon(holder, "x");
}

TEST_F(ZooKeeperNodes, AHolderWhoseNodeIsDeletedIsToldAtOnce) {
  Client client = open_one();
  const Lease lease = client.mutex("x", {.ttl = 30s}).acquire().value();
  pause_for(500ms);  // A hold that is over in a moment is not watched.
  const BootTime deleted = BootClock::now();
  ASSERT_EQ(raw_.remove(path_of("x", claims("x").at(0))), zk::Error::none);
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_LT(BootClock::now() - deleted, 7s) << "at its renewal only";
  EXPECT_FALSE(lease.held());
  expect_free_soon(client, "x");
}

// Even if it is deleted before anybody watches it.
TEST_F(ZooKeeperNodes, AHolderWhoseNodeIsDeletedInItsFirstMomentIsToldSoon) {
  Client client = open_one();
  const Lease lease = client.mutex("x", {.ttl = 30s}).acquire().value();
  const BootTime deleted = BootClock::now();
  ASSERT_EQ(raw_.remove(path_of("x", claims("x").at(0))), zk::Error::none);
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_LT(BootClock::now() - deleted, 7s) << "at its renewal only";
}

// A client that uses a lock alone does not read its queue any more. Others may come at any time.
TEST_F(ZooKeeperNodes, WhoIsUsedToBeAloneSeesThatSomebodyCame) {
  Client client = open_one();
  Mutex mutex = client.mutex("x", kLong);
  Token last;
  const auto use_alone = [&](int times) {
    for (int i = 0; i < times; ++i) {
      Lease lease = mutex.acquire().value();
      EXPECT_GT(lease.token(), last);
      last = lease.token();
      ASSERT_TRUE(lease.release());
    }
  };
  use_alone(20);
  const std::string foreign =
      raw_.create(chroot_ + "/x/_c_x-lock-", "", zk::CreateMode::ephemeral_sequential);
  EXPECT_EQ(outcome_of(mutex.try_acquire()), "busy");
  ASSERT_EQ(raw_.remove(foreign), zk::Error::none);
  use_alone(20);
  // The numbers start again, and are soon where they were.
  raw_.remove_tree(chroot_ + "/x");
  raw_.create(chroot_ + "/x");
  std::string held;
  for (int i = 0; i < 42; ++i) {
    held = raw_.create(chroot_ + "/x/_c_x-lock-", "", zk::CreateMode::ephemeral_sequential);
    if (i == 41) break;
    ASSERT_EQ(raw_.remove(held), zk::Error::none);
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(outcome_of(mutex.try_acquire()), "busy");
  ASSERT_EQ(raw_.remove(held), zk::Error::none);
  use_alone(5);
}

// Data written into the node of a holder is taken for its release by the one who waits, so the
// holder must take it for that as well.
TEST_F(ZooKeeperNodes, WhoWritesIntoAHoldersNodeEndsItsHoldForEverybody) {
  Client client = open_one();
  const Lease lease = client.mutex("x", {.ttl = 1s}).acquire().value();
  ASSERT_EQ(raw_.write(path_of("x", claims("x").at(0)), "mine!"), zk::Error::none);
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  expect_free_soon(client, "x");
}

TEST_F(ZooKeeperNodes, ForeignClaimsAreWaitedForInTheirOrderAndShown) {
  Client client = open_one();
  ASSERT_TRUE(client.mutex("x").try_acquire());
  const std::string kazoo = raw_.create(chroot_ + "/x/0123456789abcdef0123456789abcdef__lock__",
                                        "host:77", zk::CreateMode::ephemeral_sequential);
  const std::string curator =
      raw_.create(chroot_ + "/x/_c_2a0e8f0a-4c1d-4f5e-9a51-5d1b8f2f6c11-lock-", "10.0.0.7",
                  zk::CreateMode::ephemeral_sequential);
  const LockInfo info = client.inspect("x").value();
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_EQ(info.holders[0].label, "another program (host:77)");
  ASSERT_EQ(info.waiters.size(), 1U);
  EXPECT_EQ(info.waiters[0].label, "another program (10.0.0.7)");
  const Result<Lease> busy = client.mutex("x").try_acquire();
  ASSERT_EQ(outcome_of(busy), "busy");
  EXPECT_EQ(busy.failure().busy()->holder, "another program (host:77)");
  EXPECT_EQ(busy.failure().busy()->rank, 1U);
  Mutex mutex = client.mutex("x");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 2));
  ASSERT_EQ(raw_.write(curator, "busy"), zk::Error::none);
  ASSERT_EQ(raw_.remove(curator), zk::Error::none);
  pause_for(100ms);
  EXPECT_FALSE(contract::is_ready(waiting)) << "the first still holds";
  ASSERT_EQ(raw_.remove(kazoo), zk::Error::none);
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

TEST_F(ZooKeeperNodes, WhoLeavesTheQueueDoesNotLetTheNextOneIn) {
  Client client = open_one();
  Lease lease = client.mutex("x", kLong).acquire().value();
  Mutex mutex = client.mutex("x", kLong);
  std::stop_source stop;
  Pending leaves = in_thread([&] { return mutex.acquire(stop.get_token()); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  Pending stays = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 2));
  stop.request_stop();
  EXPECT_EQ(outcome_of(leaves.get()), "cancelled");
  pause_for(100ms);
  EXPECT_FALSE(contract::is_ready(stays));
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(stays));
  EXPECT_EQ(told(stays.get()), "granted");
}

TEST_F(ZooKeeperNodes, PermitsAreHandedOnInWhateverOrderTheyComeBack) {
  Client client = open_one();
  Semaphore semaphore = client.semaphore("x", 2, kLong);
  Lease a = semaphore.acquire().value();
  Lease b = semaphore.acquire().value();
  std::vector<Pending> line;
  for (std::size_t i = 0; i < 4; ++i) {
    line.push_back(in_thread([&] { return semaphore.acquire(); }));
    ASSERT_TRUE(queue_reaches(client, "x", i + 1));
  }
  ASSERT_TRUE(b.release());  // the second first
  ASSERT_TRUE(arrives(line[0]));
  Lease c = line[0].get().value();
  ASSERT_TRUE(c.release());  // the newest before the oldest
  ASSERT_TRUE(arrives(line[1]));
  Lease d = line[1].get().value();
  ASSERT_TRUE(d.release());
  ASSERT_TRUE(arrives(line[2]));
  ASSERT_TRUE(a.release());
  ASSERT_TRUE(arrives(line[3]));
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
