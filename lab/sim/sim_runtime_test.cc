#include "lab/sim/sim_runtime.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::internal {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

TEST(SimRuntimeTest, TimeJumpsToTheNextEvent) {
  SimWorld world(1);
  SimRuntime node(world);
  TaskGroup group(node);
  BootTime woke;
  const auto sleeper = [&]() -> Task<void> {
    co_await sleep_until(node, node.now() + 24h);
    woke = node.now();
  };
  const BootTime begin = node.now();
  group.spawn(sleeper());
  EXPECT_TRUE(world.run([&] { return group.size() == 0; }, begin + 48h));
  EXPECT_GE(woke - begin, 24h);
  EXPECT_LT(woke - begin, 24h + 1s);
}

TEST(SimRuntimeTest, ItStopsAtTheLimitAndWhenNothingIsLeft) {
  SimWorld world(1);
  SimRuntime node(world);
  TaskGroup group(node);
  const auto sleeper = [&]() -> Task<void> { co_await sleep_until(node, node.now() + 10s); };
  group.spawn(sleeper());
  EXPECT_FALSE(world.run([&] { return group.size() == 0; }, world.now() + 5s));
  EXPECT_EQ(group.size(), 1U);
  EXPECT_FALSE(world.run([] { return false; }, world.now() + 1h)) << "nothing is left to do";
  EXPECT_EQ(group.size(), 0U);
}

// Two nodes act at the same moments; a seed decides who goes first.
std::vector<int> schedule(std::uint64_t seed) {
  SimWorld world(seed);
  SimRuntime one(world);
  SimRuntime two(world);
  std::vector<int> order;
  const auto act = [&](SimRuntime& node, int number) -> Task<void> {
    const BootTime begin = node.now();
    for (int i = 1; i <= 30; ++i) {
      co_await sleep_until(node, begin + i * 1s);
      order.push_back(number);
    }
  };
  TaskGroup first(one);
  TaskGroup second(two);
  first.spawn(act(one, 1));
  second.spawn(act(two, 2));
  world.run([&] { return first.size() + second.size() == 0; }, world.now() + 1h);
  return order;
}

TEST(SimRuntimeTest, ASeedIsASchedule) {
  EXPECT_EQ(schedule(7).size(), 60U);
  EXPECT_EQ(schedule(7), schedule(7));
  bool differs = false;
  for (std::uint64_t seed = 1; seed < 10; ++seed)
    differs = differs || schedule(seed) != schedule(7);
  EXPECT_TRUE(differs) << "the seed changes nothing";
}

TEST(SimRuntimeTest, APausedNodeGoesOnWhereItWas) {
  SimWorld world(1);
  SimRuntime node(world);
  TaskGroup group(node);
  BootTime woke;
  const auto sleeper = [&]() -> Task<void> {
    co_await sleep_until(node, node.now() + 1s);
    woke = node.now();
  };
  const BootTime begin = node.now();
  group.spawn(sleeper());
  node.pause_for(10s);
  EXPECT_TRUE(node.paused());
  EXPECT_TRUE(world.run([&] { return group.size() == 0; }, begin + 1h));
  EXPECT_GE(woke, begin + 10s) << "it ran while it was paused, or its clock stood still";
  EXPECT_FALSE(node.paused());
}

TEST(SimRuntimeTest, ANodesClockCanRunFast) {
  SimWorld world(1);
  SimRuntime fast(world);
  fast.set_clock_rate(2.0);
  TaskGroup group(fast);
  const BootTime begin = world.now();
  const BootTime local_begin = fast.now();
  const auto sleeper = [&]() -> Task<void> { co_await sleep_until(fast, local_begin + 10s); };
  group.spawn(sleeper());
  EXPECT_TRUE(world.run([&] { return group.size() == 0; }, begin + 1h));
  EXPECT_GE(world.now() - begin, 5s);
  EXPECT_LT(world.now() - begin, 5s + 1ms);
  EXPECT_GE(fast.now(), local_begin + 10s);
}

TEST(SimRuntimeTest, AJumpOfTheWallClockDoesNotTouchTheBootClock) {
  SimWorld world(1);
  SimRuntime node(world);
  const BootTime boot = node.now();
  const WallTime wall = node.wall();
  node.jump_wall_clock(-1h);
  EXPECT_EQ(node.now(), boot);
  EXPECT_EQ(node.wall(), wall - 1h);
}

}  // namespace
}  // namespace holdfast::internal
