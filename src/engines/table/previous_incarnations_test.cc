#include "engines/table/previous_incarnations.h"

#include <gtest/gtest.h>

namespace holdfast::internal::table {
namespace {

// The numbers from which waiters are moved to `fresh`.
std::vector<ProcessId> moved_from(PreviousIncarnations& former, ProcessId fresh) {
  Dialect dialect;
  dialect.move_waiters = "move";
  std::vector<ProcessId> numbers;
  for (const SqlStatement& statement : former.move_to(fresh, dialect)) {
    EXPECT_EQ(std::get<std::int64_t>(statement.values.at(0)), fresh);
    numbers.push_back(std::get<std::int64_t>(statement.values.at(1)));
  }
  return numbers;
}

TEST(PreviousIncarnationsTest, NobodyIsMovedByTheFirst) {
  PreviousIncarnations former;
  EXPECT_TRUE(moved_from(former, 1).empty());
}

TEST(PreviousIncarnationsTest, AMoveThatWasNotAnsweredIsMovedFromAsWell) {
  PreviousIncarnations former;
  former.moved(1);
  EXPECT_EQ(moved_from(former, 2), std::vector<ProcessId>({1}));
  EXPECT_EQ(moved_from(former, 3), std::vector<ProcessId>({1, 2}));
  former.moved(3);
  EXPECT_EQ(moved_from(former, 4), std::vector<ProcessId>({3}));
}

TEST(PreviousIncarnationsTest, TheLastOneThatWasAnsweredIsNeverForgotten) {
  PreviousIncarnations former;
  former.moved(1);
  for (ProcessId fresh = 2; fresh < 100; ++fresh) static_cast<void>(moved_from(former, fresh));
  const std::vector<ProcessId> numbers = moved_from(former, 100);
  EXPECT_LE(numbers.size(), 16U);
  EXPECT_EQ(numbers.front(), 1);
  EXPECT_EQ(numbers.back(), 99);
}

}  // namespace
}  // namespace holdfast::internal::table
