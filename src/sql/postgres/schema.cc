#include "sql/postgres/schema.h"

#include "sql/postgres/tables.h"

namespace holdfast::internal::postgres {

namespace {

std::string literal(const std::string& content) {
  std::string text = "E'";
  for (const char each : content) text.append(each == '\'' || each == '\\' ? 2 : 1, each);
  return text + "'";
}

}  // namespace

std::string quoted(const std::string& identifier) {
  std::string text = "\"";
  for (const char each : identifier) text.append(each == '"' ? 2 : 1, each);
  return text + "\"";
}

std::vector<std::string> schema_of(const Settings& settings) {
  std::vector<std::string> statements;
  if (!settings.schema.empty()) {
    const std::string schema = quoted(settings.schema);
    // `CREATE SCHEMA IF NOT EXISTS` alone needs the right to create schemas even where this one exists.
    const std::string create = "BEGIN IF to_regnamespace(" + literal(schema) +
                               ") IS NULL THEN CREATE SCHEMA IF NOT EXISTS " + schema +
                               "; END IF; END";
    statements = {"DO " + literal(create), "SET search_path TO " + schema};
  }
  if (settings.recipe == "table") {
    statements.insert(statements.end(), {kLockTable, kHolderTable, kWaiterTable, kRecordTable});
  } else {
    // All of them, whichever recipe comes first: a table that is missing later would be taken for an empty one.
    if (settings.tokens) statements.insert(statements.end(), {kTokenTable, kSharedTable});
    if (settings.tokens || settings.recipe == "row") statements.emplace_back(kRowTable);
    statements.emplace_back(kRecordTable);
  }
  return statements;
}

std::vector<SqlStatement> make_tables(const Settings& settings) {
  // `IF NOT EXISTS` still fails when two sessions create a table at the same moment.
  constexpr std::int64_t kMakingTables = 0x686f6c6466617374;  // "holdfast"
  std::vector<SqlStatement> statements{
      {"SELECT pg_advisory_xact_lock($1::bigint)", {kMakingTables}}};
  for (std::string& text : schema_of(settings)) {
    // Behind a proxy that pools transactions the session is not ours: each transaction brings the schema with it.
    if (settings.pooled && text.starts_with("SET ")) continue;
    statements.push_back({std::move(text), {}});
  }
  return statements;
}

Failure tables_missing(const Settings& settings) {
  std::string tables;
  for (const std::string& text : schema_of(settings)) tables += text + ";\n";
  return settings.failure(
      Code::misconfigured,
      "the tables of the locks are missing, and create_schema=no forbids us to make "
      "them; let an administrator run this (`holdfast schema --on URL` prints it, too):\n" +
          tables);
}

std::vector<std::string> tables_of(const std::string& recipe) {
  if (recipe == "table") {
    return {"holdfast_lock", "holdfast_holder", "holdfast_waiter", "holdfast_record"};
  }
  if (recipe == "advisory") return {"holdfast_token", "holdfast_shared", "holdfast_record"};
  return {"holdfast_token", "holdfast_row", "holdfast_record"};
}

}  // namespace holdfast::internal::postgres
