#include "sql/mysql/schema.h"

#include "sql/mysql/tables.h"

namespace holdfast::internal::mysql {

std::vector<std::string> schema_of(const Settings& settings) {
  if (settings.recipe == RecipeName::table) return {kLockTable, kRecordTable};
  return {kTokensTable, kRowsTable, kRecordTable};
}

std::vector<SqlStatement> make_tables(const Settings& settings) {
  std::vector<SqlStatement> statements;
  for (std::string& text : schema_of(settings)) statements.push_back({std::move(text), {}});
  return statements;
}

Failure tables_missing(const Settings& settings) {
  std::string tables;
  for (const std::string& text : schema_of(settings)) tables += text + ";\n";
  return settings.failure(
      Code::misconfigured,
      "the database '" + settings.connection.database +
          "' has not got our tables, and create_schema=no forbids us to make them; let "
          "its administrator run this (`holdfast schema --on URL` prints it, too):\n" +
          tables);
}

}  // namespace holdfast::internal::mysql
