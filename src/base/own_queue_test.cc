#include "base/own_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/sim_runtime.h"

namespace holdfast::internal {
namespace {

class OwnQueueTest : public testing::Test {
 protected:
  using Place = OwnQueue<int>::Place;
  static constexpr std::size_t kFront = OwnQueue<int>::kFront;
  struct Waiter {
    Waiter(OwnQueueTest& test, std::uint64_t order, const char* lock)
        : told(test.runtime_), place(test.queue_, lock, std::to_string(order), order, told) {}
    Event told;
    Place place;
  };
  std::unique_ptr<Waiter> waiter(std::uint64_t order, const char* lock = "x") {
    return std::make_unique<Waiter>(*this, order, lock);
  }

  SimWorld world_{1};
  SimRuntime runtime_{world_};
  OwnQueue<int> queue_;
};

TEST_F(OwnQueueTest, TheFirstLookAndTheOthersRest) {
  std::vector<std::unique_ptr<Waiter>> line;
  for (std::uint64_t i = 0; i < kFront + 2; ++i) {
    EXPECT_EQ(queue_.long_enough("x"), i >= kFront) << i;
    line.push_back(waiter(1000 - i));  // The server's order counts, not ours.
  }
  EXPECT_FALSE(queue_.long_enough("y"));
  EXPECT_FALSE(line[0]->place.near_front());
  EXPECT_FALSE(line[1]->place.near_front());
  for (std::size_t i = 2; i < line.size(); ++i) EXPECT_TRUE(line[i]->place.near_front()) << i;
}

TEST_F(OwnQueueTest, WhoMovesUpIsToldWhereverSomebodyLeaves) {
  for (const std::size_t leaver : {std::size_t{0}, kFront / 2, kFront - 1}) {
    std::vector<std::unique_ptr<Waiter>> line;
    for (std::uint64_t i = 0; i < kFront + 2; ++i) line.push_back(waiter(i));
    line[leaver].reset();
    EXPECT_TRUE(line[kFront]->told.is_set()) << leaver;
    EXPECT_TRUE(line[kFront]->place.near_front()) << leaver;
    EXPECT_FALSE(line[kFront + 1]->told.is_set()) << leaver;
  }
}

TEST_F(OwnQueueTest, OneThatIsLeftBehindKeepsItsPlaceAndIsNotTold) {
  std::vector<std::unique_ptr<Waiter>> line;
  for (std::uint64_t i = 0; i < kFront + 1; ++i) line.push_back(waiter(i));
  line[kFront]->place.leave_behind();
  line[0].reset();
  EXPECT_FALSE(line[kFront]->told.is_set());
  EXPECT_TRUE(queue_.long_enough("x"));
}

TEST_F(OwnQueueTest, TwoAttemptsOfOneClaimCanStandInTheSamePlace) {
  auto first = waiter(5);
  auto again = waiter(5);
  first.reset();
  EXPECT_TRUE(again->place.near_front());
}

TEST_F(OwnQueueTest, TheFirstIsTheOneWithTheLowestNumberNotWhoCameFirst) {
  auto two = waiter(2);
  auto one = waiter(1);
  EXPECT_TRUE(one->place.first());
  EXPECT_FALSE(two->place.first());
  one.reset();
  EXPECT_TRUE(two->place.first());
}

TEST_F(OwnQueueTest, WhoKnowsWhoIsBeforeItIsNotAskedAgain) {
  auto one = waiter(1);
  auto two = waiter(2);
  auto other = waiter(3, "y");
  one->place.before = 7;
  std::vector<std::string> unsure;
  queue_.for_each_unsure("x", [&](Place& place) { unsure.push_back(place.name()); });
  EXPECT_THAT(unsure, testing::ElementsAre("2"));
}

}  // namespace
}  // namespace holdfast::internal
