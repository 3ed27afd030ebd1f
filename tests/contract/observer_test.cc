// The observer hears of everything, in the order in which it happened.
#include <mutex>

#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(ObserverTest);

namespace {

class Recorder final : public Observer {
 public:
  void on_wait(const Claim& claim) override { note("wait " + claim.name.bytes()); }
  void on_granted(const Hold& hold, BootTime valid_until) override {
    note("granted " + hold.claim.name.bytes());
    const std::lock_guard lock(mutex_);
    granted_.push_back(hold.token);
    EXPECT_GT(valid_until, BootClock::now() - 1h);
  }
  void on_refused(const Claim& claim, const Failure& failure) override {
    note(std::string("refused ") + code_name(failure.code()) + " " + claim.name.bytes());
  }
  void on_renewed(const Hold& hold, BootTime) override {
    note("renewed " + hold.claim.name.bytes());
  }
  void on_lost(const Hold& hold, BootTime) override { note("lost " + hold.claim.name.bytes()); }
  void on_released(const Hold& hold, const Result<bool>& how) override {
    note("released " + hold.claim.name.bytes() + (how && *how ? "" : " (not held)"));
  }

  std::vector<std::string> heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  std::vector<Token> granted() const {
    const std::lock_guard lock(mutex_);
    return granted_;
  }

 private:
  void note(std::string what) {
    const std::lock_guard lock(mutex_);
    heard_.push_back(std::move(what));
  }

  mutable std::mutex mutex_;
  std::vector<std::string> heard_;
  std::vector<Token> granted_;
};

}  // namespace

TEST_P(ObserverTest, ACallIsHeardFromItsBeginningToItsRelease) {
  auto recorder = std::make_shared<Recorder>();
  Client client = open({.observer = recorder});
  Lease lease = client.mutex("x").acquire().value();
  ASSERT_TRUE(lease.renew());
  EXPECT_FALSE(client.mutex("x").try_acquire());
  ASSERT_TRUE(lease.release());
  EXPECT_THAT(recorder->heard(), testing::ElementsAre("wait x", "granted x", "renewed x", "wait x",
                                                      "refused busy x", "released x"));
}

TEST_P(ObserverTest, CancellationIsHeardAsARefusal) {
  auto recorder = std::make_shared<Recorder>();
  Client other = open();
  const Lease lease = other.mutex("x").acquire().value();
  Client client = open({.observer = recorder});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(client.mutex("x").acquire(stop.get_token()));
  EXPECT_THAT(recorder->heard(), testing::ElementsAre("wait x", "refused cancelled x"));
}

TEST_P(ObserverTest, BackgroundRenewalsAreHeard) {
  auto recorder = std::make_shared<Recorder>();
  Client client = open({.observer = recorder});
  const Lease lease = client.mutex("x", brief()).acquire().value();
  EXPECT_TRUE(eventually([&] {
    const auto heard = recorder->heard();
    return std::count(heard.begin(), heard.end(), "renewed x") >= 2;
  }));
}

TEST_P(ObserverTest, ALossIsHeardOnceAndBeforeTheRelease) {
  auto recorder = std::make_shared<Recorder>();
  Client client = open({.observer = recorder});
  {
    const Lease lease = client.mutex("x", brief()).acquire().value();
    ASSERT_TRUE(client.evict("x", lease.token()));
    ASSERT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  }
  std::vector<std::string> heard = recorder->heard();
  std::erase(heard, "renewed x");  // It may have been renewed before the eviction.
  EXPECT_THAT(heard,
              testing::ElementsAre("wait x", "granted x", "lost x", "released x (not held)"));
}

TEST_P(ObserverTest, GrantsAndReleasesOfManyThreadsAreHeardInTheOrderOfTheTokens) {
  HOLDFAST_NEEDS(increasing_tokens);
  auto recorder = std::make_shared<Recorder>();
  Client client = open({.observer = recorder});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      Mutex mutex = client.mutex("x");
      for (int round = 0; round < 20; ++round) EXPECT_TRUE(mutex.acquire());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<Token> granted = recorder->granted();
  EXPECT_EQ(granted.size(), 160U);
  EXPECT_TRUE(std::is_sorted(granted.begin(), granted.end()));
  // The news of a grant and the answer to the release that made it can come by two ways, in any
  // order, and both ways are read in turn: one grant may be heard before the answer is there, and the
  // next one just before it is read. Where each lock has a connection of its own, there are as many
  // ways as threads.
  const int most = engine().outlives_process ? 3 : 8;
  int depth = 0;
  for (const std::string& what : recorder->heard()) {
    if (what == "granted x") {
      EXPECT_LE(++depth, most) << "a grant without a release before it";
    } else if (what == "released x") {
      --depth;
    }
  }
  EXPECT_EQ(depth, 0);
}

}  // namespace holdfast::contract
