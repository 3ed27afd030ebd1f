#include "sql/postgres/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::internal::postgres {
namespace {

SqlError error_with(const char* state) { return SqlError{.state = state, .message = "words"}; }

Code code_of(const SqlError& error) { return failure_of(Settings(), error).code(); }

TEST(PostgresErrors, AServerThatCanOnlyBeReadIsMisconfigured) {
  SqlError error = error_with("25006");
  error.read_only = true;
  EXPECT_EQ(code_of(error), Code::misconfigured);
  EXPECT_THAT(failure_of(Settings(), error).message(), testing::HasSubstr("read-only"));
}

// As the driver reports it for a server of a group, with the connection closed.
TEST(PostgresErrors, UnlessAnotherOfItsGroupMayBeWritten) {
  SqlError error = error_with("25006");
  error.read_only = error.lost = true;
  EXPECT_EQ(code_of(error), Code::unreachable);
}

TEST(PostgresErrors, WhatMayHaveRunIsUnknownWhateverElseIsWrong) {
  SqlError error = error_with("25006");
  error.read_only = error.lost = error.may_have_run = true;
  EXPECT_EQ(code_of(error), Code::unknown);
  EXPECT_EQ(code_of(never_run(error)), Code::unreachable);
}

TEST(PostgresErrors, WhatMayPassIsUnreachableAndTheRestMisconfigured) {
  for (const char* state : {"08006", "53300", "57P01", "58030", "40001", "55P03", "XX000"}) {
    EXPECT_EQ(code_of(error_with(state)), Code::unreachable) << state;
  }
  for (const char* state : {"42501", "42P01", "26000", "42P05", "3F000", "22001", "23505", ""}) {
    EXPECT_EQ(code_of(error_with(state)), Code::misconfigured) << state;
  }
}

TEST(PostgresErrors, MissingRightsAreNamed) {
  const Failure failure = failure_of(Settings(), error_with("42501"), "SELECT on x");
  EXPECT_THAT(failure.message(), testing::HasSubstr("the user needs SELECT on x"));
}

TEST(PostgresErrors, TroublesAreToldApart) {
  EXPECT_EQ(trouble_with(error_with("55P03")), SqlTrouble::busy);
  EXPECT_EQ(trouble_with(error_with("57014")), SqlTrouble::interrupted);
  EXPECT_EQ(trouble_with(error_with("40P01")), SqlTrouble::again);
  EXPECT_EQ(trouble_with(error_with("42P01")), SqlTrouble::no_table);
  EXPECT_EQ(trouble_with(error_with("42501")), SqlTrouble::other);
}

}  // namespace
}  // namespace holdfast::internal::postgres
