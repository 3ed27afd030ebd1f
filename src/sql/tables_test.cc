// Every table that Holdfast makes in a database server is defined once, and sql::tables() gives out those definitions.
// (That no other file has one, scripts/check-layers checks.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "holdfast/sql.h"
#include "sql/mysql/tables.h"
#include "sql/postgres/tables.h"

namespace holdfast::internal {
namespace {

const std::vector<std::string>& postgres_tables() {
  static const std::vector<std::string> all{
      postgres::kLockTable,   postgres::kHolderTable, postgres::kWaiterTable,
      postgres::kRecordTable, postgres::kTokenTable,  postgres::kSharedTable,
      postgres::kRowTable,    postgres::kFenceTable,  postgres::kFenceWriterTable};
  return all;
}

const std::vector<std::string>& mysql_tables() {
  static const std::vector<std::string> all{mysql::kLockTable,   mysql::kRecordTable,
                                            mysql::kTokensTable, mysql::kRowsTable,
                                            mysql::kFenceTable,  mysql::kFenceWriterTable};
  return all;
}

// Empty if it is no definition that can be executed twice.
std::string name_in(const std::string& statement) {
  const std::string begin = "CREATE TABLE IF NOT EXISTS ";
  if (!statement.starts_with(begin)) return "";
  return statement.substr(begin.size(), statement.find_first_of(" (", begin.size()) - begin.size());
}

TEST(SqlTables, EachIsDefinedOnce) {
  for (const auto* tables : {&postgres_tables(), &mysql_tables()}) {
    std::set<std::string> names;
    for (const std::string& statement : *tables) {
      const std::string name = name_in(statement);
      EXPECT_TRUE(name.starts_with("holdfast_")) << statement;
      EXPECT_TRUE(names.insert(name).second) << name << " twice";
    }
  }
}

TEST(SqlTables, ThoseForTransactionsAndFencesAreTheSame) {
  EXPECT_THAT(sql::tables(sql::Dialect::postgres), testing::IsSubsetOf(postgres_tables()));
  EXPECT_THAT(sql::tables(sql::Dialect::mysql), testing::IsSubsetOf(mysql_tables()));
}

}  // namespace
}  // namespace holdfast::internal
