#include "wire/sql_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::internal {
namespace {

using testing::HasSubstr;

SqlRows rows(std::vector<std::vector<std::optional<std::string>>> cells) {
  SqlRows made;
  made.rows = std::move(cells);
  return made;
}

TEST(SqlShape, WhatWasAskedForFits) {
  EXPECT_EQ(misfit(one_row("np"), rows({{"1", "12"}})), std::nullopt);
  EXPECT_EQ(misfit(one_row("np"), rows({{"1", std::nullopt, "more"}})), std::nullopt);
  EXPECT_EQ(misfit(row_if_any("NB"), rows({})), std::nullopt);
  EXPECT_EQ(misfit(rows_of("Nb"), rows({{"-1", "x"}, {"0", std::nullopt}})), std::nullopt);
  EXPECT_EQ(misfit(SqlShape(), rows({{"anything"}, {}})), std::nullopt);
}

TEST(SqlShape, MissingRowsColumnsAndValuesDoNot) {
  EXPECT_THAT(misfit(one_row("n"), rows({})).value(), HasSubstr("0 rows"));
  EXPECT_THAT(misfit(row_if_any("n"), rows({{"1"}, {"2"}})).value(), HasSubstr("2 rows"));
  EXPECT_THAT(misfit(no_rows(), rows({{"1"}})).value(), HasSubstr("1 rows"));
  EXPECT_THAT(misfit(one_row("nn"), rows({{"1"}})).value(), HasSubstr("1 columns"));
  EXPECT_THAT(misfit(one_row("N"), rows({{std::nullopt}})).value(), HasSubstr("NULL"));
  EXPECT_THAT(misfit(one_row("n"), rows({{"twelve"}})).value(), HasSubstr("twelve"));
  EXPECT_THAT(misfit(one_row("p"), rows({{"0"}})).value(), HasSubstr("'0'"));
}

TEST(SqlShape, NumbersAreWhole) {
  EXPECT_EQ(whole_number("12"), 12);
  EXPECT_EQ(whole_number("-3.25"), -3);
  for (const char* none : {"", "x", "1x", "1.x", " 1", "99999999999999999999", "0x1"}) {
    EXPECT_EQ(whole_number(none), std::nullopt) << none;
  }
}

TEST(SqlRows, AnAbsentCellIsAFailureAndNoMemoryOfOthers) {
  const SqlRows answer = rows({{"1", std::nullopt, "x"}});
  EXPECT_EQ(answer.number(0, 1), 0);
  EXPECT_THROW(answer.at(1, 0), LockError);
  EXPECT_THROW(answer.at(0, 3), LockError);
  try {
    static_cast<void>(answer.number(0, 2));
    FAIL() << "'x' is no number";
  } catch (const LockError& error) {
    EXPECT_EQ(error.failure().code(), Code::unknown);
    EXPECT_THAT(error.failure().message(), HasSubstr("do not understand"));
  }
}

}  // namespace
}  // namespace holdfast::internal
