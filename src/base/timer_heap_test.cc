#include "base/timer_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

namespace holdfast {
namespace {

class Alarm final : public Timer {
 public:
  explicit Alarm(int number = 0) : number_(number) {}
  void on_time() override {}
  int number() const { return number_; }

 private:
  int number_;
};

BootTime at(std::int64_t ns) { return BootTime(Duration(ns)); }

TEST(TimerHeapTest, TimersComeOutInTheOrderOfTheirMoments) {
  TimerHeap heap;
  Alarm a;
  Alarm b;
  Alarm c;
  heap.arm(a, at(30));
  heap.arm(b, at(10));
  heap.arm(c, at(20));
  EXPECT_EQ(heap.earliest(), at(10));
  EXPECT_EQ(heap.pop_due(at(9)), nullptr);
  EXPECT_EQ(heap.pop_due(at(10)), &b);
  EXPECT_FALSE(b.armed());
  EXPECT_EQ(heap.pop_due(at(100)), &c);
  EXPECT_EQ(heap.pop_due(at(100)), &a);
  EXPECT_EQ(heap.pop_due(at(100)), nullptr);
  EXPECT_TRUE(heap.empty());
}

TEST(TimerHeapTest, EqualMomentsComeOutInTheOrderOfArming) {
  TimerHeap heap;
  std::vector<std::unique_ptr<Alarm>> alarms;
  for (int i = 0; i < 50; ++i) heap.arm(*alarms.emplace_back(std::make_unique<Alarm>(i)), at(5));
  heap.arm(*alarms[10], at(5));  // Armed again: it goes to the end.
  std::vector<int> order;
  while (Timer* timer = heap.pop_due(at(5))) order.push_back(static_cast<Alarm*>(timer)->number());
  EXPECT_EQ(order.back(), 10);
  order.pop_back();
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(TimerHeapTest, DisarmingWhatIsNotArmedChangesNothing) {
  TimerHeap heap;
  Alarm a;
  heap.disarm(a);
  heap.arm(a, at(1));
  heap.disarm(a);
  heap.disarm(a);
  EXPECT_TRUE(heap.empty());
}

TEST(TimerHeapTest, RandomArmingMovingAndDisarmingAgreesWithASortedList) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 dice(seed);
  TimerHeap heap;
  std::vector<Alarm> alarms(64);
  std::vector<std::optional<BootTime>> expected(alarms.size());
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t i = dice() % alarms.size();
    const auto action = dice() % 4;
    if (action == 0) {
      heap.disarm(alarms[i]);
      expected[i].reset();
    } else if (action < 3) {
      expected[i] = at(static_cast<std::int64_t>(dice() % 1000));
      heap.arm(alarms[i], *expected[i]);
    } else {
      const BootTime now = at(static_cast<std::int64_t>(dice() % 1000));
      Timer* due = heap.pop_due(now);
      BootTime soonest = BootTime::max();
      for (const auto& moment : expected) {
        if (moment) soonest = std::min(soonest, *moment);
      }
      ASSERT_EQ(due != nullptr, soonest <= now);
      if (due) {
        ASSERT_EQ(due->at(), soonest);
        expected[static_cast<std::size_t>(static_cast<Alarm*>(due) - alarms.data())].reset();
      }
    }
    ASSERT_EQ(alarms[i].armed(), expected[i].has_value());
  }
}

}  // namespace
}  // namespace holdfast
