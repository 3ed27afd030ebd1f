#include "base/driving.h"

#include <gtest/gtest.h>

#include <array>

namespace holdfast::internal {
namespace {

using State = Driving::State;

Driving in(State state) {
  Driving driving;
  if (state != State::free) driving.take(nullptr);
  if (state == State::looking) driving.look();
  if (state == State::waiting) driving.wait();
  return driving;
}

constexpr std::array kStates{State::free, State::running, State::looking, State::waiting};

struct Transition {
  const char* name;
  void (*go)(Driving&);
  std::array<bool, kStates.size()> leaves;
  State to;
};

// As drawn in the header.
const std::array kTransitions{
    Transition{"take", [](Driving& it) { it.take(nullptr); }, {true}, State::running},
    Transition{"look", [](Driving& it) { it.look(); }, {false, true}, State::looking},
    Transition{"wait", [](Driving& it) { it.wait(); }, {false, true}, State::waiting},
    Transition{"come_back",
               [](Driving& it) { it.come_back(); },
               {false, false, true, true},
               State::running},
    Transition{"give_back", [](Driving& it) { it.give_back(); }, {false, true}, State::free},
};

TEST(DrivingDeathTest, OnlyTheTransitionsThatAreDrawnArePossible) {
  for (const Transition& transition : kTransitions) {
    for (std::size_t i = 0; i < kStates.size(); ++i) {
      SCOPED_TRACE(std::string(transition.name) + " in state " + std::to_string(i));
      Driving driving = in(kStates[i]);
      if (transition.leaves[i]) {
        transition.go(driving);
        EXPECT_EQ(driving.state(), transition.to);
      } else {
        EXPECT_DEATH(transition.go(driving), "state_");
      }
    }
  }
}

TEST(DrivingTest, ARoleThatWasGivenBackIsNobodys) {
  BlockedCaller caller;
  Driving driving;
  EXPECT_FALSE(driving.by_background());
  driving.take(&caller);
  EXPECT_TRUE(driving.by(caller));
  EXPECT_FALSE(driving.by_background());
  driving.give_back();
  EXPECT_FALSE(driving.by(caller));
  driving.take(nullptr);
  EXPECT_TRUE(driving.by_background());
}

TEST(CallerListTest, ACallerLeavesFromAnywhereAndOnce) {
  std::array<BlockedCaller, 3> callers;
  for (BlockedCaller& leaving : callers) {
    CallerList list;
    for (BlockedCaller& caller : callers) list.push(caller);
    list.remove(leaving);
    list.remove(leaving);
    EXPECT_EQ(list.size(), 2U);
    std::size_t count = 0;
    for (BlockedCaller* caller = list.first(); caller; caller = caller->next) {
      EXPECT_NE(caller, &leaving);
      EXPECT_EQ(caller->next == nullptr, caller == list.last());
      ++count;
    }
    EXPECT_EQ(count, 2U);
    for (BlockedCaller& caller : callers) list.remove(caller);
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.first(), nullptr);
  }
}

}  // namespace
}  // namespace holdfast::internal
