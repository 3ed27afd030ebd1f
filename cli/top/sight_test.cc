#include "top/sight.h"

#include <gtest/gtest.h>

#include <thread>

#include "top/lock_texts.h"
#include "top/locks_testing.h"

namespace holdfast::cli::top {
namespace {

using testing::kNowMs;
using testing::show;

std::vector<std::string> kinds(const std::vector<HistoryEvent>& events) {
  std::vector<std::string> kinds;
  for (const HistoryEvent& each : events) kinds.push_back(each.kind);
  return kinds;
}

using Kinds = std::vector<std::string>;

TEST(SightTest, BeforeTheFirstLookNothingHasHappened) {
  Sight sight({"redis"});
  EXPECT_TRUE(show(sight, 0, {{.name = "x", .token = 1}}).empty());
  EXPECT_TRUE(show(sight, 0, {{.name = "x", .token = 1}}).empty());
}

TEST(SightTest, WhatChangedBetweenLooksIsRemembered) {
  Sight sight({"redis"});
  show(sight, 0, {});
  EXPECT_EQ(kinds(show(sight, 0, {{.name = "x", .token = 1, .waits_ms = {0}}})),
            (Kinds{"granted", "waiting"}));
  show(sight, 0, {{.name = "x", .token = 2}});
  show(sight, 0, {});
  std::vector<HistoryEvent> all = sight.happenings().of("redis", Name("x"));
  EXPECT_EQ(kinds(all),
            (Kinds{"released", "gave_up", "handed_over", "released", "waiting", "granted"}));
  EXPECT_TRUE(sight.happenings().of("redis", Name("y")).empty());
  EXPECT_TRUE(sight.happenings().of("postgres", Name("x")).empty());
}

TEST(SightTest, AHoldThatEndedWithItsTimeIsALoss) {
  Sight sight({"redis"});
  show(sight, 0, {{.name = "x", .token = 1, .left_ms = 500}});
  const auto events = show(sight, 0, {}, kNowMs + 1000);
  ASSERT_EQ(kinds(events), Kinds{"expired"});
  EXPECT_EQ(event_colour(events[0]), Colour::red);
  EXPECT_EQ(event_text(events[0]), "EXPIRED: lost by app, token 1, held 1.0s");
}

TEST(SightTest, TheBarIsOfTheMostThatWasEverLeft) {
  Sight sight({"redis"});
  show(sight, 0, {{.name = "x", .token = 1, .left_ms = 20'000}});
  show(sight, 0, {{.name = "x", .token = 1, .left_ms = 30'000}});
  show(sight, 0, {{.name = "x", .token = 1, .left_ms = 15'000}});
  const TopLock* lock = sight.find(0, Name("x"));
  EXPECT_DOUBLE_EQ(least_left(*lock, kNowMs)->share, 0.5);
  EXPECT_DOUBLE_EQ(least_left(*lock, kNowMs + 60'000)->share, 0);
  // The next holder has a time of its own.
  show(sight, 0, {{.name = "x", .token = 2, .left_ms = 5000}});
  EXPECT_DOUBLE_EQ(least_left(*sight.find(0, Name("x")), kNowMs)->share, 1);
}

TEST(SightTest, AnEngineThatFailsKeepsWhatWasSeen) {
  Sight sight({"redis", "postgres"});
  show(sight, 0, {{.name = "x"}});
  sight.asked(0, kNowMs);
  sight.failed(0, Failure(Code::unreachable, "gone"));
  EXPECT_EQ(sight.engines()[0].locks.size(), 1U);
  EXPECT_TRUE(sight.engines()[0].failure);
  EXPECT_FALSE(sight.engines()[0].asked_ms);
  show(sight, 0, {});
  EXPECT_FALSE(sight.engines()[0].failure);
}

TEST(SightTest, ADeadlockAcrossEnginesIsToldAfterTheSecondLookAndForgottenWithAnEngine) {
  Sight sight({"redis", "postgres"});
  const auto lock = [](const char* name, std::uint8_t token, const char* holder,
                       const char* waiter) {
    LockInfo info =
        testing::lock_of({.name = name, .token = token, .waits_ms = {10}, .owner = holder});
    info.waiters[0].owner = waiter;
    info.waiters[0].id = testing::id_of(static_cast<std::uint8_t>(100 + token));
    return info;
  };
  const auto look = [&] {
    const auto begun = Sight::Clock::now();
    sight.saw(0, {lock("stock", 1, "a", "b")}, Fairness::fifo, begun, kNowMs);
    sight.saw(1, {lock("ledger", 2, "b", "a")}, Fairness::fifo, begun, kNowMs);
    sight.look_for_deadlocks();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  look();
  EXPECT_TRUE(sight.deadlocks().empty());
  look();
  ASSERT_EQ(sight.deadlocks().size(), 1U);
  sight.failed(1, Failure(Code::unreachable, "gone"));
  const auto begun = Sight::Clock::now();
  sight.saw(0, {lock("stock", 1, "a", "b")}, Fairness::fifo, begun, kNowMs);
  sight.look_for_deadlocks();
  EXPECT_TRUE(sight.deadlocks().empty());
}

TEST(HappeningsTest, OneBusyLockDoesNotPushOutTheOthers) {
  Happenings happenings;
  happenings.add({.engine = "redis", .name = Name("rare"), .kind = "granted"});
  for (std::size_t i = 0; i < Happenings::kMostOfOne * 3; ++i)
    happenings.add({.engine = "redis", .name = Name("busy"), .kind = "granted"});
  EXPECT_EQ(happenings.of("redis", Name("busy")).size(), Happenings::kMostOfOne);
  EXPECT_EQ(happenings.of("redis", Name("rare")).size(), 1U);
  for (std::size_t i = 0; i < Happenings::kMostOfAll; ++i)
    happenings.add({.engine = "redis", .name = Name("n" + std::to_string(i)), .kind = "granted"});
  EXPECT_TRUE(happenings.of("redis", Name("rare")).empty());
  EXPECT_TRUE(happenings.of("redis", Name("busy")).empty());
  EXPECT_EQ(happenings.of("redis", Name("n0")).size(), 1U);
}

}  // namespace
}  // namespace holdfast::cli::top
