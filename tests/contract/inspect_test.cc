// Views that everybody has: list, inspect; and evict, which is a compare, never blind.
#include "child.h"
#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(InspectTest);

TEST_P(InspectTest, ANameThatNobodyHoldsIsEmpty) {
  Client client = open();
  const LockInfo info = client.inspect("x").value();
  EXPECT_EQ(info.name, Name("x"));
  EXPECT_EQ(info.last_token, Token());
  EXPECT_TRUE(info.holders.empty());
  EXPECT_TRUE(info.waiters.empty());
  EXPECT_TRUE(client.list().value().empty());
}

TEST_P(InspectTest, TheHolderIsShownWithWhatIsKnownOfIt) {
  Client one = open({.label = "nightly on host 7"});
  Client two = open();
  const Lease lease = one.mutex("x", {.ttl = 30s}).acquire().value();
  pause_for(20ms);
  const LockInfo info = two.inspect("x").value();
  ASSERT_EQ(info.holders.size(), 1U);
  const HolderInfo& holder = info.holders[0];
  EXPECT_EQ(holder.label, "nightly on host 7");
  EXPECT_EQ(holder.token, lease.token());
  EXPECT_EQ(holder.mode, Mode::exclusive);
  EXPECT_EQ(info.last_token, lease.token());
  ASSERT_TRUE(holder.held_for.has_value());
  EXPECT_GE(*holder.held_for, 15ms);  // by another clock than ours, perhaps
  EXPECT_LE(*holder.held_for, 60s);
  ASSERT_TRUE(holder.expires_in.has_value());
  EXPECT_GT(*holder.expires_in, 0s);
  EXPECT_LE(*holder.expires_in, 30s);
}

TEST_P(InspectTest, TheDefaultLabelNamesTheProcess) {
  Client client = open();
  const Lease lease = client.mutex("x").acquire().value();
  EXPECT_THAT(client.inspect("x").value().holders.at(0).label,
              testing::HasSubstr(std::to_string(getpid())));
}

TEST_P(InspectTest, WaitersAreShownInTheOrderInWhichTheyWillBeServed) {
  HOLDFAST_NEEDS(fifo);
  Client watcher = open();
  Lease lease = watcher.mutex("x").acquire().value();
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(open({.label = "waiter " + std::to_string(i)}));
  std::vector<Pending> line;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    line.push_back(in_thread([&clients, i] { return clients[i].mutex("x").acquire(); }));
    ASSERT_TRUE(queue_reaches(watcher, "x", i + 1));
  }
  std::vector<std::string> labels;
  for (const WaiterInfo& waiter : watcher.inspect("x").value().waiters) {
    labels.push_back(waiter.label);
    EXPECT_EQ(waiter.mode, Mode::exclusive);
  }
  EXPECT_THAT(labels, testing::ElementsAre("waiter 0", "waiter 1", "waiter 2", "waiter 3"));
  ASSERT_TRUE(lease.release());
  for (Pending& waiting : line) ASSERT_TRUE(waiting.get());
}

TEST_P(InspectTest, SharedHoldersAndPermitsAreAllShown) {
  HOLDFAST_NEEDS(shared_mode);
  HOLDFAST_NEEDS(permit_mode);
  Client client = open();
  const Lease a = client.shared_mutex("r").acquire_shared().value();
  const Lease b = client.shared_mutex("r").acquire_shared().value();
  const Lease p = client.semaphore("p", 3).acquire().value();
  const LockInfo readers = client.inspect("r").value();
  ASSERT_EQ(readers.holders.size(), 2U);
  EXPECT_EQ(readers.holders[0].mode, Mode::shared);
  EXPECT_EQ(readers.last_token, std::max(a.token(), b.token()));
  const LockInfo permits = client.inspect("p").value();
  ASSERT_EQ(permits.holders.size(), 1U);
  EXPECT_EQ(permits.holders[0].mode, Mode::permit);
  EXPECT_EQ(permits.permits, 3U);
  for (const HolderInfo& holder : {readers.holders[0], readers.holders[1], permits.holders[0]}) {
    ASSERT_TRUE(holder.held_for.has_value());
    EXPECT_LE(*holder.held_for, 60s);
  }
}

TEST_P(InspectTest, ListShowsWhatIsHeldOrWaitedForSortedByName) {
  Client client = open();
  std::vector<Lease> leases;
  for (const char* name : {"b", "a", "c"}) leases.push_back(client.mutex(name).acquire().value());
  ASSERT_TRUE(client.mutex("d").acquire());  // And given back at once.
  std::vector<std::string> names;
  for (const LockInfo& info : client.list().value()) names.push_back(info.name.bytes());
  EXPECT_THAT(names, testing::ElementsAre("a", "b", "c"));
}

TEST_P(InspectTest, AnExpiredHolderIsNotShown) {
  Client client = open();
  const Lease lease = client.mutex("x", fading()).acquire().value();
  ASSERT_EQ(holders(client, "x"), 1U);
  EXPECT_TRUE(eventually([&] { return holders(client, "x") == 0; }));
  EXPECT_TRUE(client.list().value().empty());
}

TEST_P(InspectTest, EvictTakesTheLockOnlyFromTheHolderWithThatToken) {
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  const std::uint64_t token = lease.token().value();
  for (const std::uint64_t wrong : {std::uint64_t{0}, token - 1, token + 1, UINT64_MAX}) {
    EXPECT_EQ(outcome_of(client.evict("x", Token(wrong))), "not_held") << wrong;
    EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy") << wrong;
  }
  EXPECT_EQ(outcome_of(client.evict("y", Token(token))), "not_held");
  EXPECT_EQ(outcome_of(client.evict("x", Token(token))), "granted");
  EXPECT_EQ(outcome_of(client.evict("x", Token(token))), "not_held");
  expect_nothing_left(client, "x");
}

TEST_P(InspectTest, EvictionHandsTheLockToTheNextWaiter) {
  Client one = open();
  Client two = open();
  const Lease lease = one.mutex("x").acquire().value();
  Mutex mutex = two.mutex("x");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(one, "x", 1));
  ASSERT_TRUE(one.evict("x", lease.token()));
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
}

TEST_P(InspectTest, EvictionOfOneReaderLeavesTheOthers) {
  HOLDFAST_NEEDS(shared_mode);
  Client client = open();
  const Lease a = client.shared_mutex("x").acquire_shared().value();
  Lease b = client.shared_mutex("x").acquire_shared().value();
  ASSERT_TRUE(client.evict("x", a.token()));
  const LockInfo info = client.inspect("x").value();
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_EQ(info.holders[0].token, b.token());
  EXPECT_EQ(outcome_of(b.renew()), "granted");
}

TEST_P(InspectTest, LookingChangesNothing) {
  Client one = open();
  Client two = open();
  const Lease lease = one.mutex("x").acquire().value();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(two.list());
    EXPECT_TRUE(two.inspect("x"));
    EXPECT_TRUE(two.inspect("never heard of"));
  }
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(two.inspect("x").value().last_token, lease.token());
  EXPECT_EQ(two.list().value().size(), 1U);
}

}  // namespace holdfast::contract
