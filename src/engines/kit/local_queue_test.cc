#include "engines/kit/local_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "lab/sim/sim_runtime.h"

namespace holdfast::internal {
namespace {

class LocalQueueTest : public testing::Test {
 protected:
  using Entry = LocalQueue<int>::Entry;
  static constexpr std::size_t kFront = LocalQueue<int>::kFront;
  struct Waiter {
    Waiter(LocalQueueTest& test, std::uint64_t order, const char* lock)
        : told(test.runtime_), entry(test.queue_, lock, std::to_string(order), order, told) {}
    Event told;
    Entry entry;
  };
  std::unique_ptr<Waiter> waiter(std::uint64_t order, const char* lock = "x") {
    return std::make_unique<Waiter>(*this, order, lock);
  }

  SimWorld world_{1};
  SimRuntime runtime_{world_};
  LocalQueue<int> queue_;
};

TEST_F(LocalQueueTest, TheFirstLookAndTheOthersRest) {
  std::vector<std::unique_ptr<Waiter>> line;
  for (std::uint64_t i = 0; i < kFront + 2; ++i) {
    EXPECT_EQ(queue_.long_enough("x"), i >= kFront) << i;
    line.push_back(waiter(1000 - i));  // The server's order counts, not ours.
  }
  EXPECT_FALSE(queue_.long_enough("y"));
  EXPECT_FALSE(line[0]->entry.near_front());
  EXPECT_FALSE(line[1]->entry.near_front());
  for (std::size_t i = 2; i < line.size(); ++i) EXPECT_TRUE(line[i]->entry.near_front()) << i;
}

TEST_F(LocalQueueTest, WhoMovesUpIsToldWhereverSomebodyLeaves) {
  for (const std::size_t leaver : {std::size_t{0}, kFront / 2, kFront - 1}) {
    std::vector<std::unique_ptr<Waiter>> line;
    for (std::uint64_t i = 0; i < kFront + 2; ++i) line.push_back(waiter(i));
    line[leaver].reset();
    EXPECT_TRUE(line[kFront]->told.is_set()) << leaver;
    EXPECT_TRUE(line[kFront]->entry.near_front()) << leaver;
    EXPECT_FALSE(line[kFront + 1]->told.is_set()) << leaver;
  }
}

TEST_F(LocalQueueTest, OneThatIsLeftBehindKeepsItsPlaceAndIsNotTold) {
  std::vector<std::unique_ptr<Waiter>> line;
  for (std::uint64_t i = 0; i < kFront + 1; ++i) line.push_back(waiter(i));
  line[kFront]->entry.leave_behind();
  line[0].reset();
  EXPECT_FALSE(line[kFront]->told.is_set());
  EXPECT_TRUE(queue_.long_enough("x"));
}

TEST_F(LocalQueueTest, TwoAttemptsOfOneClaimCanStandInTheSamePlace) {
  auto first = waiter(5);
  auto again = waiter(5);
  first.reset();
  EXPECT_TRUE(again->entry.near_front());
}

TEST_F(LocalQueueTest, TheFirstIsTheOneWithTheLowestNumberNotWhoCameFirst) {
  auto two = waiter(2);
  auto one = waiter(1);
  EXPECT_TRUE(one->entry.first());
  EXPECT_FALSE(two->entry.first());
  one.reset();
  EXPECT_TRUE(two->entry.first());
}

TEST_F(LocalQueueTest, WhoKnowsWhoIsBeforeItIsNotAskedAgain) {
  auto one = waiter(1);
  auto two = waiter(2);
  auto other = waiter(3, "y");
  one->entry.before = 7;
  std::vector<std::string> unsure;
  queue_.for_each_unsure("x", [&](Entry& entry) { unsure.push_back(entry.name()); });
  EXPECT_THAT(unsure, testing::ElementsAre("2"));
}

}  // namespace
}  // namespace holdfast::internal
