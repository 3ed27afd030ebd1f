#include "engines/mysql/table_sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::internal::mysql {
namespace {

std::vector<std::string> texts(const std::vector<SqlStatement>& statements) {
  std::vector<std::string> all;
  for (const SqlStatement& each : statements) all.push_back(each.text);
  return all;
}

TEST(MysqlTableSql, ASilentClientIsThrownOutWhileATransactionIsOpenAndNotAfterIt) {
  const table::Dialect& sql = table_sql();
  const Bounded whole({{sql.begin, {}}, {"a", {}}, {sql.commit, {}}, {"b", {}}});
  EXPECT_THAT(texts(whole.statements),
              testing::ElementsAre("SET SESSION wait_timeout = 3", sql.begin, "a", sql.commit,
                                   "SET SESSION wait_timeout = 600", "b"));
  const Bounded opens(std::vector{SqlStatement{sql.begin_reading.back(), {}}});
  EXPECT_EQ(opens.statements.front().text, "SET SESSION wait_timeout = 3");
  const Bounded ends(std::vector{SqlStatement{sql.rollback, {}}});
  EXPECT_EQ(ends.statements.back().text, "SET SESSION wait_timeout = 600");
  EXPECT_THAT(texts(Bounded(std::vector{SqlStatement{"a", {}}}).statements),
              testing::ElementsAre("a"));
}

TEST(MysqlTableSql, AnswersStayWithTheirStatements) {
  const table::Dialect& sql = table_sql();
  const Bounded bounded({{sql.begin, {}}, {"a", {}}, {sql.commit, {}}});
  // An error may end a request at each of its statements.
  const std::vector<std::size_t> given{0, 0, 1, 2, 3, 3};
  for (std::size_t executed = 0; executed < given.size(); ++executed) {
    SqlOutcome outcome;
    for (std::size_t i = 0; i < executed; ++i) outcome.results.push_back({.affected = i});
    bounded.strip(outcome);
    EXPECT_EQ(outcome.results.size(), given[executed]);
    if (executed > 2) EXPECT_EQ(outcome.results.at(1).affected, 2U);
  }
}

}  // namespace
}  // namespace holdfast::internal::mysql
