// Several locks, one deadline: also for giving back, also on a dead link.
#include "contract.h"
#include "proxy.h"
#include "redis_server.h"

namespace holdfast::core_tests {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::arrives;
using contract::eventually;
using contract::outcome_of;
using contract::why;

constexpr int kNames = 20;

class MultiLockOnADeadLink : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < kNames; ++i) names_.emplace_back("lock" + std::to_string(100 + i));
    ASSERT_EQ(why(client_.ping()), "");
  }
  void cut() { proxy_.set_both(test::ProxyMode::hold); }

  test::RedisServer server_;
  test::Proxy proxy_{server_.port()};
  Client direct_ = Client::open(server_.url()).value();
  Client client_ =
      Client::open("redis://127.0.0.1:" + std::to_string(proxy_.port()), {.release_timeout = 1s})
          .value();
  std::vector<Name> names_;
};

TEST_F(MultiLockOnADeadLink, KeepsItsDeadlineWithTwentyNamesToGiveBack) {
  Lease last = direct_.mutex("lock999").acquire().value();
  names_.emplace_back("lock999");
  MultiLock lock = client_.multi_lock(names_);
  auto taking = std::async(std::launch::async, [&] { return lock.try_acquire_for(2s); });
  ASSERT_TRUE(eventually([&] { return direct_.inspect("lock999").value().waiters.size() == 1; }));
  cut();
  const BootTime begin = BootClock::now();
  ASSERT_TRUE(arrives(taking));
  EXPECT_NE(outcome_of(taking.get()), "granted");
  EXPECT_LT(BootClock::now() - begin, 6s);  // one after the other: over 30 s
  proxy_.set_both(test::ProxyMode::pass);
  for (const Name& name : names_) {
    if (name.display() == "lock999") continue;
    EXPECT_TRUE(eventually([&] { return direct_.inspect(name).value().holders.empty(); }))
        << name.display() << " was left behind";
  }
}

TEST_F(MultiLockOnADeadLink, IsCancelledAnywhere) {
  Lease last = direct_.mutex("lock999").acquire().value();
  names_.emplace_back("lock999");
  MultiLock lock = client_.multi_lock(names_);
  std::stop_source stop;
  auto taking = std::async(std::launch::async, [&] { return lock.acquire(stop.get_token()); });
  ASSERT_TRUE(eventually([&] { return direct_.inspect("lock999").value().waiters.size() == 1; }));
  cut();
  stop.request_stop();
  const BootTime begin = BootClock::now();
  ASSERT_TRUE(arrives(taking));
  EXPECT_NE(outcome_of(taking.get()), "granted");
  EXPECT_LT(BootClock::now() - begin, 6s);
}

TEST_F(MultiLockOnADeadLink, IsReleasedWithinOneReleaseTimeout) {
  MultiLease all = client_.multi_lock(names_).acquire().value();
  cut();
  const BootTime begin = BootClock::now();
  EXPECT_EQ(outcome_of(all.release()), "unknown");
  EXPECT_LT(BootClock::now() - begin, 5s);
  EXPECT_FALSE(all.held());
}

TEST_F(MultiLockOnADeadLink, IsDestroyedWithinOneReleaseTimeout) {
  std::optional<MultiLease> all = client_.multi_lock(names_).acquire().value();
  cut();
  const BootTime begin = BootClock::now();
  all.reset();
  EXPECT_LT(BootClock::now() - begin, 5s);
}

TEST_F(MultiLockOnADeadLink, DetachesAllOfThem) {
  MultiLease all = client_.multi_lock({"b", "a"}).acquire().value();
  ASSERT_EQ(outcome_of(all.renew()), "granted");
  EXPECT_GT(all.valid_until(), BootClock::now());
  const std::vector<Handle> handles = all.detach().value();
  ASSERT_EQ(handles.size(), 2U);
  EXPECT_EQ(handles[0].hold().claim.name, Name("a"));
  EXPECT_TRUE(all.leases().empty());
  for (const Handle& handle : handles) EXPECT_EQ(why(direct_.release(handle)), "");
}

TEST_F(MultiLockOnADeadLink, DetachesNoneIfOneIsLost) {
  MultiLease all = client_.multi_lock({"a", "b", "c"}).acquire().value();
  ASSERT_EQ(why(direct_.evict("b", all.token("b"))), "");
  EXPECT_EQ(outcome_of(all.renew()), "not_held");
  EXPECT_EQ(outcome_of(all.detach()), "not_held");
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_TRUE(eventually([&] { return direct_.inspect(name).value().holders.empty(); })) << name;
  }
}

TEST(MultiLockRequests, MustBeSortedAndOfOneClient) {
  test::RedisServer server;
  Client one = Client::open(server.url()).value();
  Client two = Client::open(server.url()).value();
  const auto make = [](const Mutex& a, const Mutex& b) {
    return contract::thrown_by([&] { MultiLock(std::vector<LockRequest>{a, b}); });
  };
  EXPECT_EQ(make(one.mutex("a"), one.mutex("b")), "nothing");
  EXPECT_EQ(make(one.mutex("b"), one.mutex("a")), "invalid_argument");
  EXPECT_EQ(make(one.mutex("a"), one.mutex("a")), "invalid_argument");
  EXPECT_EQ(make(one.mutex("a"), two.mutex("b")), "invalid_argument");
}

}  // namespace
}  // namespace holdfast::core_tests
