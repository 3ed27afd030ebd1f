#include "sql/postgres/session.h"

#include "sql/postgres/errors.h"
#include "sql/postgres/schema.h"

namespace holdfast::internal::postgres {

namespace {

// A token that is not on disk when it is used may come again, or where a synchronous standby may take over, one that
// is not there.
std::string commit_setting(const Settings& settings) {
  const std::string commit = settings.login.group ? "WHEN 'off' THEN 'on' WHEN 'local' THEN 'on'"
                                                  : "WHEN 'off' THEN 'local'";
  return "'synchronous_commit', CASE current_setting('synchronous_commit') " + commit +
         " ELSE current_setting('synchronous_commit') END";
}

// A list of set_config(…), to be selected.
std::string session_settings(const Settings& settings, const SessionUse& use) {
  std::string list;
  const auto set = [&](const char* name, const std::string& value) {
    list += (list.empty() ? "set_config('" : ", set_config('") + std::string(name) + "', '" +
            value + "', false)";
  };
  set("default_transaction_isolation", "read committed");
  set("bytea_output", "hex");  // As the driver reads bytes.
  set("standard_conforming_strings", "on");
  set("statement_timeout", "0");
  set("lock_timeout", use.lock_timeout);
  set("idle_session_timeout", use.idle_timeout);
  set("idle_in_transaction_session_timeout", use.idle_in_transaction_timeout);
  set("tcp_user_timeout", use.unacknowledged_timeout);
  set("tcp_keepalives_idle", "10");
  set("tcp_keepalives_interval", "5");
  set("tcp_keepalives_count", use.keepalives);
  // All goes by key, whatever the tables hold: planned once, and by the indexes. (Just-in-time compilation would set
  // in where a plan must do without one.)
  set("plan_cache_mode", "force_generic_plan");
  set("enable_seqscan", "off");
  set("enable_bitmapscan", "off");
  set("jit", "off");
  return list + ", set_config(" + commit_setting(settings) +
         ", false), CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL"
         " THEN set_config('transaction_timeout', '0', false) END" +
         use.more;
}

}  // namespace

Task<Result<std::unique_ptr<PostgresConnection>>> connect(Runtime& runtime,
                                                          const Settings& settings,
                                                          Deadline deadline) {
  Result<std::unique_ptr<PostgresConnection>> made =
      co_await PostgresConnection::connect(runtime, settings.login, deadline);
  if (!made) co_return settings.failure(made.code(), made.message());
  co_return made;
}

Task<Result<NewSession>> open_session(Runtime& runtime, const Settings& settings, SessionUse use,
                                      Deadline deadline, More more) {
  Result<std::unique_ptr<PostgresConnection>> made = co_await connect(runtime, settings, deadline);
  if (!made) co_return made.failure();
  const std::int64_t greeted_by = (*made)->backend_pid();
  std::vector<SqlStatement> statements(1);
  statements[0].text = "SELECT " + session_settings(settings, use);
  statements[0].once = true;
  if (use.own_backend) {
    statements[0].text += " WHERE pg_backend_pid() = $1::integer";
    statements[0].values.emplace_back(greeted_by);
  }
  for (SqlStatement& statement : use_schema(settings, greeted_by)) {
    statements.push_back(std::move(statement));
  }
  const std::size_t own = statements.size();
  if (more) {
    for (SqlStatement& statement : more(**made)) statements.push_back(std::move(statement));
  }
  SqlOutcome outcome = co_await (*made)->run(std::move(statements), deadline);
  if (!outcome.ok()) co_return reported_failure(runtime, settings, never_run(*outcome.error));
  if (outcome.results.front().empty()) {
    co_return settings.failure(Code::misconfigured, kNoPooling);
  }
  NewSession session{.connection = std::move(made).value(), .answers = std::move(outcome.results)};
  session.answers.erase(session.answers.begin(),
                        session.answers.begin() + static_cast<std::ptrdiff_t>(own));
  co_return session;
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

}  // namespace holdfast::internal::postgres
