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

namespace {

// A token that is not on disk when it is used may come again; or not on a synchronous standby, where that may take over.
std::string commit_setting(const Settings& settings) {
  const std::string commit = settings.login.group ? "WHEN 'off' THEN 'on' WHEN 'local' THEN 'on'"
                                                  : "WHEN 'off' THEN 'local'";
  return "'synchronous_commit', CASE current_setting('synchronous_commit') " + commit +
         " ELSE current_setting('synchronous_commit') END";
}

}  // namespace

std::string session_settings(const Settings& settings) {
  return "set_config('default_transaction_isolation', 'read committed', false),"
         // As the driver reads bytes.
         " set_config('bytea_output', 'hex', false),"
         " set_config('lock_timeout', '0', false), set_config('idle_session_timeout', '0', false),"
         " set_config(" +
         commit_setting(settings) +
         ", false),"
         // All goes by key, whatever the tables hold: planned once, and by the indexes. (Just-in-time
         // compilation would set in where a plan must do without one.)
         " set_config('plan_cache_mode', 'force_generic_plan', false),"
         " set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', "
         "false),"
         " set_config('jit', 'off', false)";
}

std::vector<SqlStatement> use_schema(const Settings& settings, std::int64_t backend) {
  if (settings.schema.empty()) return {};
  return {
      {"SELECT set_config('search_path', $1::text, false)"
       " WHERE pg_backend_pid() = $2::integer",
       {quoted(settings.schema), backend},
       true}};
}

SqlStatement transaction_settings(const Settings& settings, const std::string& lock_timeout) {
  SqlStatement statement{
      "SELECT set_config('bytea_output', 'hex', true), set_config('lock_timeout', $1, true),"
      // For one who is stopped or cut off in the middle of it. (Since PostgreSQL 17 also where part of a request is
      // missing.)
      " set_config('idle_in_transaction_session_timeout', '3s', true),"
      " set_config('statement_timeout', '10s', true),"
      " CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL"
      " THEN set_config('transaction_timeout', '15s', true) END,"
      " set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),"
      " set_config('jit', 'off', true), set_config(" +
          commit_setting(settings) + ", true)",
      {lock_timeout}};
  if (settings.schema.empty()) return statement;
  statement.text += ", set_config('search_path', $2, true)";
  statement.values.emplace_back(quoted(settings.schema));
  return statement;
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
