#include "engines/postgres/session_settings.h"

namespace holdfast::internal::postgres {

namespace {

std::string quoted(const std::string& identifier) {
  std::string text = "\"";
  for (const char each : identifier) text.append(each == '"' ? 2 : 1, each);
  return text + "\"";
}

std::string literal(const std::string& content) {
  std::string text = "E'";
  for (const char each : content) text.append(each == '\'' || each == '\\' ? 2 : 1, each);
  return text + "'";
}

}  // namespace

std::vector<SqlStatement> use_schema(const Settings& settings) {
  if (settings.schema.empty()) return {};
  return {{"SELECT set_config('search_path', $1::text, false)", {quoted(settings.schema)}}};
}

std::vector<std::string> make_schema(const Settings& settings) {
  if (settings.schema.empty()) return {};
  const std::string schema = quoted(settings.schema);
  // `CREATE SCHEMA IF NOT EXISTS` alone needs the right to create schemas even where this one exists.
  const std::string create = "BEGIN IF to_regnamespace(" + literal(schema) +
                             ") IS NULL THEN CREATE SCHEMA IF NOT EXISTS " + schema +
                             "; END IF; END";
  return {"DO " + literal(create), "SET search_path TO " + schema};
}

}  // namespace holdfast::internal::postgres
