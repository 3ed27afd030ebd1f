#include "base/watchdog.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace holdfast::internal {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

// Ends at a moment that a test may move on; its callback waits as long as the test wants it to.
class TestWard final : public Watchdog::Ward, public std::enable_shared_from_this<TestWard> {
 public:
  TestWard(Watchdog& watchdog, BootTime end) : watchdog_(watchdog), end_(end) { ++alive; }
  ~TestWard() override {
    watchdog_.forget(*this);
    --alive;
  }

  std::optional<BootTime> look(BootTime now) noexcept override {
    ++looks;
    const BootTime end = end_.load();
    if (now < end) return end;
    return std::nullopt;
  }
  bool wants_callbacks() noexcept override { return !told_.exchange(true); }
  std::shared_ptr<Ward> share() noexcept override {
    const auto shared = weak_from_this().lock();
    return {shared, shared.get()};
  }
  void run_callbacks() noexcept override {
    std::unique_lock lock(mutex_);
    runs_at_ = BootClock::now();
    changed_.notify_all();
    changed_.wait(lock, [&] { return may_return_; });
  }

  void move_to(BootTime end) { end_ = end; }
  void let_return() {
    const std::lock_guard lock(mutex_);
    may_return_ = true;
    changed_.notify_all();
  }
  bool runs_within(Duration patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return runs_at_.has_value(); });
  }
  std::optional<BootTime> runs_at() {
    const std::lock_guard lock(mutex_);
    return runs_at_;
  }

  static inline std::atomic<int> alive = 0;
  std::atomic<int> looks = 0;

 private:
  Watchdog& watchdog_;
  std::atomic<BootTime> end_;
  std::atomic<bool> told_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<BootTime> runs_at_;
  bool may_return_ = false;
};

class WatchdogTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(watchdog_.start()); }
  void TearDown() override {
    while (TestWard::alive > 0) std::this_thread::yield();  // A worker may let go last.
  }
  std::shared_ptr<TestWard> ward(Duration ends_after) {
    const BootTime end = BootClock::now() + ends_after;
    auto made = std::make_shared<TestWard>(watchdog_, end);
    watchdog_.watch(*made, end);
    return made;
  }

  Watchdog watchdog_;
};

TEST_F(WatchdogTest, TellsAtTheEndAndNotBefore) {
  const BootTime begin = BootClock::now();
  const auto one = ward(50ms);
  ASSERT_TRUE(one->runs_within(20s));
  EXPECT_GE(*one->runs_at(), begin + 50ms);
  one->let_return();
}

TEST_F(WatchdogTest, AnEarlierEndThatComesLaterIsNotMissed) {
  const auto late = ward(1h);
  const auto early = ward(20ms);
  EXPECT_TRUE(early->runs_within(20s));
  EXPECT_FALSE(late->runs_at());
  early->let_return();
}

TEST_F(WatchdogTest, AnEndThatMovedOnIsLookedAtAgainThen) {
  const auto one = ward(30ms);
  const BootTime moved_to = BootClock::now() + 200ms;
  one->move_to(moved_to);
  ASSERT_TRUE(one->runs_within(20s));
  EXPECT_GE(*one->runs_at(), moved_to);
  EXPECT_GE(one->looks, 2);
  one->let_return();
}

TEST_F(WatchdogTest, WhatIsForgottenIsNotTold) {
  const auto forgotten = ward(30ms);
  const auto kept = ward(60ms);
  watchdog_.forget(*forgotten);
  ASSERT_TRUE(kept->runs_within(20s));
  EXPECT_FALSE(forgotten->runs_at());
  kept->let_return();
}

TEST_F(WatchdogTest, OneCallbackThatBlocksDelaysNoOther) {
  std::vector<std::shared_ptr<TestWard>> wards;
  for (int i = 0; i < 100; ++i) wards.push_back(ward(20ms));
  for (const auto& each : wards) EXPECT_TRUE(each->runs_within(20s));  // none has returned
  for (const auto& each : wards) each->let_return();
}

TEST_F(WatchdogTest, AnEndThatIsKnownIsToldAtOnceAndOnce) {
  const auto one = ward(1h);
  watchdog_.expire(*one);
  watchdog_.expire(*one);
  EXPECT_TRUE(one->runs_within(20s));
  one->let_return();
}

TEST_F(WatchdogTest, AWardMayGoAtAnyMoment) {
  for (int i = 0; i < 2000; ++i) {
    const auto one = ward(std::chrono::microseconds(i % 100));
    one->let_return();
  }
}

TEST(Watchdog, EndsWithoutHavingBeenStarted) { const Watchdog idle; }

}  // namespace
}  // namespace holdfast::internal
