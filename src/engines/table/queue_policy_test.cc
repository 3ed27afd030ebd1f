#include "engines/table/queue_policy.h"

#include <gtest/gtest.h>

namespace holdfast::internal {
namespace {

constexpr Holders kNobody{};
constexpr Holders kWriter{.exclusive = true};
constexpr Holders readers(std::uint32_t count) {
  return {.sharing = count, .sharing_mode = Mode::shared};
}
constexpr Holders permits(std::uint32_t count) {
  return {.sharing = count, .sharing_mode = Mode::permit};
}

TEST(AdmissionTest, AFreeNameAdmitsEverybody) {
  for (const Mode mode : {Mode::exclusive, Mode::shared, Mode::permit}) {
    EXPECT_TRUE(admits(kNobody, mode, 1)) << mode_name(mode);
  }
}

TEST(AdmissionTest, AWriterAdmitsNobody) {
  for (const Mode mode : {Mode::exclusive, Mode::shared, Mode::permit}) {
    EXPECT_FALSE(admits(kWriter, mode, 100)) << mode_name(mode);
  }
}

TEST(AdmissionTest, ReadersAdmitReadersOnly) {
  EXPECT_TRUE(admits(readers(1), Mode::shared, 1));
  EXPECT_TRUE(admits(readers(1'000'000), Mode::shared, 1));
  EXPECT_FALSE(admits(readers(1), Mode::exclusive, 1));
  EXPECT_FALSE(admits(readers(1), Mode::permit, 10));
}

TEST(AdmissionTest, PermitsAreAdmittedUpToTheirNumber) {
  EXPECT_TRUE(admits(permits(1), Mode::permit, 2));
  EXPECT_FALSE(admits(permits(2), Mode::permit, 2));
  EXPECT_FALSE(admits(permits(3), Mode::permit, 2));
  EXPECT_FALSE(admits(permits(1), Mode::permit, 1));
  EXPECT_FALSE(admits(permits(1), Mode::exclusive, 2));
  EXPECT_FALSE(admits(permits(1), Mode::shared, 2));
}

TEST(QueuePolicy, ADeadHeadIsDroppedWhetherTheLockIsFreeOrNot) {
  EXPECT_EQ(table::fate_of_head(Holders{}, Mode::exclusive, 1, true), table::HeadFate::dropped);
  EXPECT_EQ(table::fate_of_head(Holders{.exclusive = true}, Mode::shared, 1, true),
            table::HeadFate::dropped);
}

TEST(QueuePolicy, ALivingHeadWaitsForItsTurn) {
  EXPECT_EQ(table::fate_of_head(Holders{}, Mode::exclusive, 1, false), table::HeadFate::granted);
  EXPECT_EQ(table::fate_of_head(Holders{.exclusive = true}, Mode::exclusive, 1, false),
            table::HeadFate::waits);
  EXPECT_EQ(table::fate_of_head(Holders{.sharing = 1, .sharing_mode = Mode::shared},
                                Mode::exclusive, 1, false),
            table::HeadFate::waits);
}

}  // namespace
}  // namespace holdfast::internal
