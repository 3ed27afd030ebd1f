#include "sql/mysql/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::internal::mysql {
namespace {

SqlError numbered(int number) { return SqlError{.number = number, .message = "words"}; }

Code code_of(const SqlError& error) { return failure_of(Settings(), error).code(); }

TEST(MysqlErrors, AServerThatCanOnlyBeReadIsUnreachable) {
  SqlError error = numbered(1290);
  error.read_only = true;
  EXPECT_EQ(code_of(error), Code::unreachable);
  EXPECT_THAT(failure_of(Settings(), error).message(), testing::HasSubstr("replica"));
}

TEST(MysqlErrors, WhatMayHaveRunIsUnknownWhateverElseIsWrong) {
  SqlError error = numbered(1142);
  error.may_have_run = true;
  EXPECT_EQ(code_of(error), Code::unknown);
  EXPECT_EQ(code_of(never_run(error)), Code::misconfigured);
}

TEST(MysqlErrors, WhatPeopleMustMendIsMisconfigured) {
  for (const int number :
       {1044, 1046, 1054, 1064, 1142, 1143, 1193, 1227, 1305, 1370, 1665, 1820}) {
    EXPECT_EQ(code_of(numbered(number)), Code::misconfigured) << number;
  }
  for (const int number : {1021, 1114, 1205, 1213, 2013, 0}) {
    EXPECT_EQ(code_of(numbered(number)), Code::unreachable) << number;
  }
}

TEST(MysqlErrors, TroublesAreToldApart) {
  EXPECT_EQ(trouble_with(numbered(1205)), SqlTrouble::busy);
  EXPECT_EQ(trouble_with(numbered(3572)), SqlTrouble::busy);
  EXPECT_EQ(trouble_with(numbered(1317)), SqlTrouble::interrupted);
  EXPECT_EQ(trouble_with(numbered(1213)), SqlTrouble::again);
  EXPECT_EQ(trouble_with(numbered(1146)), SqlTrouble::no_table);
  EXPECT_EQ(trouble_with(numbered(1142)), SqlTrouble::other);
}

TEST(MysqlErrors, AValueThatDoesNotFitIsNotTheServersFault) {
  EXPECT_TRUE(refuses_value(SqlError{.state = "22001"}));
  EXPECT_TRUE(refuses_value(numbered(1366)));
  EXPECT_FALSE(refuses_value(numbered(1142)));
  EXPECT_TRUE(is_duplicate(numbered(1062)));
}

}  // namespace
}  // namespace holdfast::internal::mysql
