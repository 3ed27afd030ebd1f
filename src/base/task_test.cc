#include "holdfast/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "lab/sim/sim_runtime.h"

namespace holdfast {
namespace {

using internal::SimRuntime;
using internal::SimWorld;

class TaskTest : public testing::Test {
 protected:
  // Runs `task` to its end. False if it waits for something that never comes.
  bool run(Task<void> task) {
    TaskGroup group(runtime_);
    group.spawn(std::move(task));
    return world_.run([&] { return group.size() == 0; }, world_.now() + std::chrono::hours(1));
  }

  SimWorld world_{1};
  SimRuntime runtime_{world_};
};

TEST_F(TaskTest, ATaskThatIsNotAwaitedDoesNotStart) {
  bool started = false;
  const auto body = [&]() -> Task<void> {
    started = true;
    co_return;
  };
  {
    const Task<void> task = body();
  }
  EXPECT_FALSE(started);
}

TEST_F(TaskTest, TheValueComesOutOfTheAwait) {
  const auto inner = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  int value = 0;
  const auto outer = [&]() -> Task<void> { value = *co_await inner(); };
  EXPECT_TRUE(run(outer()));
  EXPECT_EQ(value, 7);
}

TEST_F(TaskTest, AnExceptionComesOutOfTheAwait) {
  const auto inner = []() -> Task<int> {
    throw std::runtime_error("mine");
    co_return 1;
  };
  std::string caught;
  const auto outer = [&]() -> Task<void> {
    try {
      co_await inner();
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  };
  EXPECT_TRUE(run(outer()));
  EXPECT_EQ(caught, "mine");
}

TEST_F(TaskTest, AwaitingManyTasksThatDoNotSuspendNeedsNoStack) {
  const auto inner = [](int i) -> Task<int> { co_return i; };
  long sum = 0;
  const auto outer = [&]() -> Task<void> {
    for (int i = 0; i < 1'000'000; ++i) sum += co_await inner(1);
  };
  EXPECT_TRUE(run(outer()));
  EXPECT_EQ(sum, 1'000'000);
}

TEST_F(TaskTest, AnAwaiterIsResumedWhenASuspendedTaskEnds) {
  Event go(runtime_);
  std::vector<std::string> order;
  const auto inner = [&]() -> Task<int> {
    order.emplace_back("inner begins");
    co_await go.wait();
    order.emplace_back("inner ends");
    co_return 3;
  };
  const auto outer = [&]() -> Task<void> {
    EXPECT_EQ(co_await inner(), 3);
    order.emplace_back("outer ends");
  };
  TaskGroup group(runtime_);
  group.spawn(outer());
  EXPECT_EQ(group.size(), 1U);
  order.emplace_back("set");
  go.set();
  EXPECT_TRUE(world_.run([&] { return group.size() == 0; }, world_.now()));
  EXPECT_EQ(order, (std::vector<std::string>{"inner begins", "set", "inner ends", "outer ends"}));
}

TEST_F(TaskTest, DestroyingASuspendedTaskDestroysWhatItAwaits) {
  Event never(runtime_);
  auto witness = std::make_shared<int>(1);
  const auto inner = [&](std::shared_ptr<int>) -> Task<void> { co_await never.wait(); };
  const auto outer = [&](std::shared_ptr<int> kept) -> Task<void> { co_await inner(kept); };
  {
    TaskGroup group(runtime_);
    group.spawn(outer(witness));
    EXPECT_GT(witness.use_count(), 1);
  }
  EXPECT_EQ(witness.use_count(), 1);
}

TEST_F(TaskTest, AGroupIsJoinedWhenItsLastTaskEnds) {
  Event go(runtime_);
  TaskGroup group(runtime_);
  const auto body = [&]() -> Task<void> { co_await go.wait(); };
  for (int i = 0; i < 3; ++i) group.spawn(body());
  bool early = true;
  bool late = false;
  const auto join = [&]() -> Task<void> {
    early = co_await group.join(Deadline::at(runtime_.now() + std::chrono::seconds(1)));
    go.set();
    late = co_await group.join(Deadline::never());
  };
  EXPECT_TRUE(run(join()));
  EXPECT_FALSE(early);
  EXPECT_TRUE(late);
}

}  // namespace
}  // namespace holdfast
