// Keys and leases of a lock that change behind its holder's back.
#include <sstream>

#include "etcd_testing.h"

namespace holdfast::etcd_tests {
namespace {

TEST(EtcdKeys, AHoldIsAKeyOfItsOwnUnderTheName) {
  EtcdServer server;
  Client client = open(server.url() + "?prefix=/locks/");
  const Lease lease = client.mutex("job", kLong).try_acquire().value();
  const std::string keys = server.ctl({"get", "--prefix", "/locks/job/", "--keys-only"});
  EXPECT_THAT(keys, testing::StartsWith("/locks/job/"));
  EXPECT_THAT(server.ctl({"get", "--prefix", "/locks/job/", "--write-out=fields"}),
              HasSubstr("\"CreateRevision\" : " + lease.token().str()));
  // By which others find it there.
  const LockInfo info = client.inspect("job").value();
  ASSERT_EQ(info.holders.size(), 1U);
  const std::vector<HolderInfo::Detail>& details = info.holders[0].details;
  ASSERT_EQ(details.size(), 2U);
  EXPECT_EQ(details[0].name, "lease");
  EXPECT_THAT(server.ctl({"lease", "list"}), HasSubstr(details[0].value));
  EXPECT_EQ(details[1].name, "revision");
  EXPECT_EQ(details[1].value, lease.token().str());
}

TEST(EtcdKeys, ADeletedKeyIsALostLock) {
  EtcdServer server;
  Client client = open(server.url());
  Lease lease = client.mutex("x", {.ttl = 5s}).try_acquire().value();
  server.ctl({"del", "--prefix", "x/"});
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(outcome_of(lease.release()), "not_held");
  expect_free_soon(client, "x");
}

TEST(EtcdKeys, ARevokedLeaseIsALostLockAndTheClientGoesOn) {
  EtcdServer server;
  Client client = open(server.url());
  Lease lease = client.mutex("x", {.ttl = 5s}).try_acquire().value();
  const std::string leases = server.ctl({"lease", "list"});
  const std::string id = leases.substr(leases.find('\n') + 1, 16);
  server.ctl({"lease", "revoke", id});
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  const Result<Lease> next = client.mutex("x", {.ttl = 5s}).try_acquire();
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), lease.token());
}

TEST(EtcdKeys, AWaiterWhoseKeyWasDeletedQueuesUpAgainAndNobodyOverlaps) {
  EtcdServer server;
  Client a = open(server.url());
  Client b = open(server.url());
  Client c = open(server.url());
  Lease first = a.mutex("x", kLong).try_acquire().value();
  Pending second = in_thread([&] { return b.mutex("x", kLong).try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return waiters(a, "x") == 1; }));
  Pending third = in_thread([&] { return c.mutex("x", kLong).try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return waiters(a, "x") == 2; }));
  pause_for(200ms);  // They know that they wait.
  const LockInfo info = a.inspect("x").value();
  const std::string keys = server.ctl({"get", "x/", "--prefix", "--keys-only", "--sort-by=CREATE"});
  const std::size_t of_first_waiter = keys.find("x/", 1);
  server.ctl(
      {"del", keys.substr(of_first_waiter, keys.find('\n', of_first_waiter) - of_first_waiter)});
  ASSERT_TRUE(eventually([&] { return waiters(a, "x") == 2; })) << "it came back, behind the other";
  EXPECT_EQ(a.inspect("x").value().waiters.at(1).id, info.waiters.at(0).id);
  ASSERT_TRUE(first.release());
  Result<Lease> got_third = third.get();
  ASSERT_EQ(told(got_third), "granted");
  EXPECT_FALSE(contract::is_ready(second));
  EXPECT_EQ(told(got_third->release()), "granted");
  EXPECT_EQ(told(second.get()), "granted");
}

// Of many claims of one client only the first look; who rests behind them is served all the same.
TEST(EtcdKeys, AWaiterFarBehindWhoseKeyWasDeletedIsServedInTheEnd) {
  EtcdServer server;
  Client holder = open(server.url());
  Client client = open(server.url());
  Lease lease = holder.mutex("x", kLong).try_acquire().value();
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
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == kWaiters; }));
  const std::string keys = server.ctl({"get", "x/", "--prefix", "--keys-only", "--sort-by=CREATE"});
  std::vector<std::string> queue;
  std::istringstream lines(keys);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) queue.push_back(line);
  }
  ASSERT_EQ(queue.size(), kWaiters + 1);
  for (const std::size_t far : {std::size_t{70}, std::size_t{78}}) server.ctl({"del", queue[far]});
  EXPECT_EQ(told(lease.release()), "granted");
  EXPECT_TRUE(eventually([&] { return served == kWaiters; })) << served;
  expect_free_soon(holder, "x");
}

TEST(EtcdKeys, WaitersOutliveACompaction) {
  EtcdServer server;
  Client a = open(server.url());
  Client b = open(server.url());
  Lease first = a.mutex("x", kLong).try_acquire().value();
  Pending second = in_thread([&] { return b.mutex("x", kLong).try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return waiters(a, "x") == 1; }));
  for (int i = 0; i < 20; ++i) server.ctl({"put", "elsewhere", "x"});
  server.ctl({"compact", std::to_string(first.token().value() + 15)});
  EXPECT_EQ(told(first.release()), "granted");
  EXPECT_EQ(told(second.get()), "granted");
}

TEST(EtcdKeys, AForeignKeyInTheQueueIsWaitedForAndShown) {
  EtcdServer server;
  Client client = open(server.url());
  const std::string granted = server.ctl({"lease", "grant", "60"});
  const std::string id = granted.substr(granted.find(' ') + 1, 16);
  server.ctl({"put", "--lease=" + id, "x/" + id, ""});
  EXPECT_EQ(outcome_of(client.mutex("x", kLong).try_acquire()), "busy");
  const LockInfo info = client.inspect("x").value();
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_THAT(info.holders[0].label, HasSubstr("foreign client (lease " + id));
  Pending waiting = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return waiters(client, "x") == 1; }));
  server.ctl({"lease", "revoke", id});
  EXPECT_EQ(told(waiting.get()), "granted");
}

// Row by row of `ls`: what is not a lock is not shown as one.
TEST(EtcdKeys, OtherKeysAreNotLocks) {
  EtcdServer server;
  server.ctl({"put", "config/a", "some value"});
  server.ctl({"put", "plain", "some value"});
  Client client = open(server.url());
  const Lease lease = client.mutex("x", kLong).try_acquire().value();
  const std::vector<LockInfo> all = client.list().value();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, Name("x"));
}

TEST(EtcdSpace, AFullDatabaseIsNamedAndHoldersCanStillRelease) {
  EtcdServer server({.arguments = {"--quota-backend-bytes", "262144"}});
  Client client = open(server.url());
  Lease lease = client.mutex("x", kLong).try_acquire().value();
  const std::string big(60'000, 'x');
  int status = 0;
  for (int i = 0; i < 100 && status == 0; ++i) {
    server.ctl({"put", "big" + std::to_string(i), big}, status);
  }
  ASSERT_NE(status, 0) << "the quota did not bite";
  ASSERT_TRUE(eventually(
      [&] { return server.ctl({"alarm", "list"}).find("NOSPACE") != std::string::npos; }));
  const Result<Lease> refused = client.mutex("y", kLong).try_acquire();
  EXPECT_THAT(told(refused), HasSubstr("misconfigured"));
  EXPECT_THAT(told(refused), HasSubstr("alarm disarm"));
  EXPECT_EQ(told(lease.renew()), "granted");
  EXPECT_EQ(told(lease.release()), "granted");
  EXPECT_TRUE(client.inspect("x").value().holders.empty());
}

}  // namespace
}  // namespace holdfast::etcd_tests
