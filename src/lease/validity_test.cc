#include "lease/validity.h"

#include <gtest/gtest.h>

#include <thread>

namespace holdfast::internal {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

const BootTime kStart{1000s};
Grant grant_of(Duration ttl) { return Grant{Token(1), kStart, ttl}; }
Validity until(BootTime lost_at) { return {lost_at + 1s, lost_at}; }

TEST(ValidityTest, DriftIsOnePerCentAndTwoMilliseconds) {
  EXPECT_EQ(drift_of(30s), 302ms);
  EXPECT_EQ(drift_of(10ms), 2100us);
}

TEST(ValidityTest, ItCountsFromBeforeTheRequestAndSubtractsDrift) {
  const Validity validity = validity_of(grant_of(30s), {});
  EXPECT_EQ(validity.valid_until, kStart + 30s - 302ms);
  EXPECT_EQ(validity.lost_at, validity.valid_until - 3s);
}

TEST(ValidityTest, TheWarningIsATenthOfTheTtlButAtMostFiveSeconds) {
  EXPECT_EQ(warning_of(10s, {}), 1s);
  EXPECT_EQ(warning_of(10min, {}), 5s);
  EXPECT_EQ(warning_of(10s, 2s), 2s);
}

TEST(ValidityTest, AWarningIsKeptWithinHalfTheTtlOfTheGrant) {
  EXPECT_EQ(warning_of(10s, 9s), 5s);
  EXPECT_EQ(warning_of(10s, -1s), 0s);
}

TEST(ValidityTest, LossIsNeverAfterTheEndAndNeverBeforeTheBeginning) {
  for (const Duration ttl : {Duration(10ms), Duration(1s), Duration(30s), Duration(720h)}) {
    for (const std::optional<Duration> warning :
         {std::optional<Duration>(), std::optional<Duration>(0s),
          std::optional<Duration>(ttl / 2)}) {
      const Validity validity = validity_of(grant_of(ttl), warning);
      EXPECT_LE(validity.lost_at, validity.valid_until);
      EXPECT_LT(validity.valid_until, kStart + ttl);
      EXPECT_GT(validity.lost_at, kStart) << "such a grant could never be used";
    }
  }
}

TEST(ValidityWordTest, ItIsHeldUntilTheMomentOfLossAndNotAtIt) {
  ValidityWord word(until(kStart));
  EXPECT_TRUE(word.held(kStart - 1ns));
  EXPECT_FALSE(word.held(kStart));
}

TEST(ValidityWordTest, ALossThatWasSeenIsForEver) {
  ValidityWord word(until(kStart));
  EXPECT_FALSE(word.held(kStart + 1s));
  EXPECT_TRUE(word.lost());
  EXPECT_FALSE(word.held(kStart - 1s)) << "also if the clock is read earlier";
  EXPECT_FALSE(word.extend(until(kStart + 100s), kStart - 1s)) << "a late renewal revived it";
  EXPECT_FALSE(word.held(kStart - 1s));
}

TEST(ValidityWordTest, ARenewalThatComesAfterTheEndIsTooLateEvenIfNobodyLooked) {
  ValidityWord word(until(kStart));
  EXPECT_FALSE(word.extend(until(kStart + 100s), kStart));
  EXPECT_TRUE(word.lost());
}

TEST(ValidityWordTest, ARenewalInTimeProlongs) {
  ValidityWord word(until(kStart));
  EXPECT_TRUE(word.extend(until(kStart + 10s), kStart - 1s));
  EXPECT_TRUE(word.held(kStart + 9s));
  EXPECT_EQ(word.lost_at(), kStart + 10s);
  EXPECT_EQ(word.valid_until(), kStart + 11s);
}

TEST(ValidityWordTest, ARenewalNeverShortens) {
  ValidityWord word(until(kStart + 10s));
  EXPECT_TRUE(word.extend(until(kStart + 5s), kStart));
  EXPECT_EQ(word.lost_at(), kStart + 10s);
  EXPECT_EQ(word.valid_until(), kStart + 11s);
}

TEST(ValidityWordTest, LoseIsForEver) {
  ValidityWord word(until(kStart));
  word.lose();
  EXPECT_FALSE(word.held(kStart - 10s));
  EXPECT_FALSE(word.extend(until(kStart + 10s), kStart - 10s));
}

// One thread renews while others look with a clock that runs: once one of them has seen a loss,
// nobody sees the lease held again.
TEST(ValidityWordTest, NobodySeesItHeldAfterSomebodySawItLost) {
  for (int round = 0; round < 200; ++round) {
    ValidityWord word(until(kStart));
    std::atomic<bool> seen_lost = false;
    std::atomic<int> revived = 0;
    const auto look = [&] {
      for (int i = 0; i < 200; ++i) {
        const bool lost_before = seen_lost;
        const bool held = word.held(kStart - 50ns + Duration(i));
        if (!held) seen_lost = true;
        if (held && lost_before) ++revived;
      }
    };
    std::thread one(look);
    std::thread two(look);
    for (int i = 0; i < 200; ++i)
      word.extend(until(kStart + Duration(i)), kStart - 50ns + Duration(i));
    one.join();
    two.join();
    ASSERT_EQ(revived, 0);
  }
}

}  // namespace
}  // namespace holdfast::internal
