#include "sql/mysql/session.h"

#include "sql/mysql/errors.h"

namespace holdfast::internal::mysql {

namespace {

std::string session_settings(bool is_mariadb, const SessionUse& use) {
  std::string text =
      "SET SESSION autocommit = 1, SESSION completion_type = 'NO_CHAIN',"
      // A value that does not fit is an error.
      " SESSION sql_mode = 'STRICT_ALL_TABLES',"
      " SESSION sql_safe_updates = 0, SESSION sql_select_limit = 18446744073709551615,"
      // The server may be told to ignore what the client library says.
      " SESSION character_set_client = utf8mb4, SESSION character_set_connection = utf8mb4,"
      " SESSION character_set_results = utf8mb4, SESSION wait_timeout = ";
  text += use.wait_timeout_s;
  // READ COMMITTED locks the rows that are changed, and not the gaps between them.
  text += is_mariadb
              ? ", SESSION tx_isolation = 'READ-COMMITTED', SESSION tx_read_only = 0, SESSION "
                "max_statement_time = 0, SESSION idle_transaction_timeout = 0, SESSION "
                "idle_readonly_transaction_timeout = 0, SESSION "
                "idle_write_transaction_timeout = 0"
              : ", SESSION transaction_isolation = 'READ-COMMITTED', SESSION "
                "transaction_read_only = 0, SESSION max_execution_time = 0";
  return text + use.more;
}

}  // namespace

Task<Result<NewSession>> open_session(Runtime& runtime, const Settings& settings, SessionUse use,
                                      Deadline deadline, More more) {
  Result<std::unique_ptr<MariadbConnection>> made =
      co_await MariadbConnection::connect(runtime, settings.connection, deadline);
  if (!made) co_return made.failure();
  std::vector<SqlStatement> statements(1);
  statements[0].text = session_settings((*made)->is_mariadb(), use);
  if (more) {
    for (SqlStatement& statement : more(**made)) statements.push_back(std::move(statement));
  }
  SqlOutcome outcome = co_await (*made)->run(std::move(statements), deadline);
  if (!outcome.ok()) co_return reported_failure(runtime, settings, never_run(*outcome.error));
  NewSession session{.connection = std::move(made).value(), .answers = std::move(outcome.results)};
  session.answers.erase(session.answers.begin());
  co_return session;
}

}  // namespace holdfast::internal::mysql
