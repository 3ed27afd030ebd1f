// Async: what callbacks may be, where they end, and what a call that cannot be begun does.
#include <future>

#include "contract.h"
#include "temp_dir.h"

namespace holdfast {

namespace {

using namespace std::chrono_literals;
using contract::arrives;
using contract::eventually;
using contract::outcome_of;

class Callbacks : public testing::Test {
 protected:
  Client open() {
    return Client::open("sqlite://" + (directory_.path() / "locks.db").string()).value();
  }
  test::TempDir directory_;
  Client client_ = open();
  Mutex mutex_ = client_.mutex("x");
};

// Says on which thread it ended, and whether that was inside the loop.
struct Ending {
  explicit Ending(std::promise<bool>& ended) : promise(&ended) {}
  ~Ending() { promise->set_value(internal::Loop::current() == nullptr); }
  std::promise<bool>* promise;
};

}  // namespace

TEST_F(Callbacks, MayBeMoveOnly) {
  std::promise<Lease> granted;
  std::future<Lease> lease = granted.get_future();
  mutex_.async_acquire().then([granted = std::move(granted)](Result<Lease> mine) mutable {
    granted.set_value(std::move(mine).value());
  });
  ASSERT_TRUE(arrives(lease));
  EXPECT_TRUE(lease.get().held());
}

TEST_F(Callbacks, EndOutsideTheLoop) {
  for (int round = 0; round < 50; ++round) {
    std::promise<bool> ended;
    std::future<bool> outside = ended.get_future();
    mutex_.async_try_acquire().then([ending = std::make_unique<Ending>(ended)](Result<Lease>) {});
    ASSERT_TRUE(arrives(outside));
    EXPECT_TRUE(outside.get());
  }
}

TEST_F(Callbacks, AreCalledAtOnceWhereNoClientIsLeft) {
  const Mutex moved = std::move(mutex_);
  std::string said;
  mutex_.async_acquire().then(  // NOLINT(bugprone-use-after-move)
      [&](Result<Lease> lease) { said = outcome_of(lease); });
  EXPECT_EQ(said, "closed");
}

TEST_F(Callbacks, TheStopOfAnAsyncEndsThatCallAlone) {
  Lease lease = mutex_.acquire().value();
  std::stop_source mine;
  auto first = mutex_.async_acquire(mine.get_token());
  auto second = mutex_.async_acquire();
  std::stop_source stop = first.stop();
  std::promise<std::string> one;
  std::promise<std::string> other;
  std::move(first).then([&](Result<Lease> got) { one.set_value(outcome_of(got)); });
  std::move(second).then([&](Result<Lease> got) { other.set_value(outcome_of(got)); });
  ASSERT_TRUE(eventually([&] { return client_.inspect("x").value().waiters.size() == 2; }));
  stop.request_stop();
  EXPECT_EQ(one.get_future().get(), "cancelled");
  EXPECT_EQ(client_.inspect("x").value().waiters.size(), 1U);
  ASSERT_TRUE(lease.release());
  EXPECT_EQ(other.get_future().get(), "granted");
}

TEST_F(Callbacks, AWaitForSeveralLocksIsCancelledAndLeavesNothing) {
  const Lease lease = mutex_.acquire().value();
  MultiLock several = client_.multi_lock({"a", "x"});
  auto waiting = several.async_acquire();
  std::stop_source stop = waiting.stop();
  std::promise<std::string> said;
  std::move(waiting).then([&](Result<MultiLease> got) { said.set_value(outcome_of(got)); });
  ASSERT_TRUE(eventually([&] { return client_.inspect("x").value().waiters.size() == 1; }));
  stop.request_stop();
  EXPECT_EQ(said.get_future().get(), "cancelled");
  EXPECT_TRUE(client_.inspect("a").value().holders.empty());
  EXPECT_TRUE(client_.inspect("x").value().waiters.empty());
}

TEST_F(Callbacks, ALeaseThatIsDroppedWithItsAsyncIsGivenBack) {
  Lease lease = mutex_.acquire().value();
  {
    const auto dropped = lease.async_release();
    EXPECT_FALSE(lease);
  }
  EXPECT_TRUE(eventually([&] { return client_.inspect("x").value().holders.empty(); }));
  lease = mutex_.acquire().value();
  {
    const auto dropped = lease.async_detach();
  }
  EXPECT_TRUE(eventually([&] { return client_.inspect("x").value().holders.empty(); }));
}

TEST_F(Callbacks, TwoCallsOfOneOwnerFollowOneAnother) {
  RecursiveMutex recursive = client_.recursive_mutex("r");
  const int owner = 0;
  Lease lease = client_.mutex("r").acquire().value();
  std::vector<std::future<std::string>> said;
  for (int i = 0; i < 2; ++i) {
    auto promise = std::make_shared<std::promise<std::string>>();
    said.push_back(promise->get_future());
    recursive.async_lock(&owner).then(
        [promise](Result<Token> token) { promise->set_value(outcome_of(token)); });
  }
  ASSERT_TRUE(eventually([&] { return client_.inspect("r").value().waiters.size() == 2; }));
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(said[0]));
  EXPECT_EQ(said[0].get(), "granted");
  EXPECT_EQ(recursive.async_unlock(&owner).get().message(), "");
  ASSERT_TRUE(arrives(said[1]));
  EXPECT_EQ(said[1].get(), "granted") << "the first had ended";
}

TEST_F(Callbacks, ARecursiveMutexMayEndWhileItIsWaitedFor) {
  Lease lease = client_.mutex("r").acquire().value();
  std::promise<std::string> said;
  const int owner = 0;
  {
    RecursiveMutex recursive = client_.recursive_mutex("r");
    recursive.async_lock(&owner).then(
        [&](Result<Token> token) { said.set_value(outcome_of(token)); });
    ASSERT_TRUE(eventually([&] { return client_.inspect("r").value().waiters.size() == 1; }));
  }
  ASSERT_TRUE(lease.release());
  EXPECT_EQ(said.get_future().get(), "granted");
  EXPECT_TRUE(eventually([&] { return client_.inspect("r").value().holders.empty(); }));
}

}  // namespace holdfast
