#include "engines/mysql/table_database.h"

#include "engines/mysql/table_sql.h"

namespace holdfast::internal::mysql {

using table::Trouble;

namespace {

// Every setting that matters here, whatever the server's defaults are. net_write_timeout: an answer that nobody
// reads ends its session.
constexpr const char* kPrepareSession =
    "SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES', autocommit = 1,"
    " completion_type = 0, sql_safe_updates = 0, sql_select_limit = 18446744073709551615,"
    " net_write_timeout = 5, innodb_lock_wait_timeout = ";
// READ COMMITTED locks the rows that are changed, and not the gaps between them.
constexpr const char* kIsolate =
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";

std::size_t pool_size(const Settings& settings) {
  // Calls are short. (The option's default is for recipes that need a connection for each lease.)
  constexpr std::size_t kEnough = 4;
  return settings.connections == Settings{}.connections ? kEnough : settings.connections;
}

}  // namespace

// (A renewal is asked again and again: it need not wait for long at a time.)
const TableDatabase::Use TableDatabase::kCalls{.lock_wait_s = "5", .wait_timeout_s = "600"};
const TableDatabase::Use TableDatabase::kRenewals{.lock_wait_s = "1", .wait_timeout_s = "600"};
const TableDatabase::Use TableDatabase::kNames{.lock_wait_s = "1", .wait_timeout_s = "60"};
const TableDatabase::Use TableDatabase::kSleeping{.lock_wait_s = "5", .wait_timeout_s = "60"};

TableDatabase::TableDatabase(Runtime& runtime, Settings settings)
    : runtime_(runtime),
      settings_(std::move(settings)),
      where_(settings_.connection.endpoint.display()),
      calls_(
          runtime, [this] { return open(kCalls); }, pool_size(settings_), "MySQL at " + where_),
      renewals_(
          runtime, [this] { return open(kRenewals); }, table::kRenewalConnections,
          "MySQL at " + where_),
      requests_(runtime, *this, settings_.request_timeout) {}

Task<Result<std::unique_ptr<MariadbConnection>>> TableDatabase::connect(Use use) {
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.connection.connect_timeout);
  Result<std::unique_ptr<MariadbConnection>> connected =
      co_await MariadbConnection::connect(runtime_, settings_.connection, deadline);
  if (!connected) co_return connected.failure();
  const bool mariadb = (*connected)->is_mariadb();
  std::vector<SqlStatement> statements;
  statements.push_back(
      {std::string(kPrepareSession) + use.lock_wait_s + ", wait_timeout = " + use.wait_timeout_s,
       {}});
  statements.push_back({kIsolate, {}});
  // A wait for a name takes longer than any query.
  statements.push_back(
      {mariadb ? "SET SESSION max_statement_time = 0" : "SET SESSION max_execution_time = 0", {}});
  const SqlOutcome prepared = co_await (*connected)->run(std::move(statements), deadline);
  if (prepared.ok()) co_return connected;
  SqlError error = *prepared.error;
  error.may_have_run = false;
  co_return failure_of(error);
}

Task<Result<std::unique_ptr<SqlConnection>>> TableDatabase::open(Use use) {
  Result<std::unique_ptr<MariadbConnection>> connected = co_await connect(use);
  if (!connected) co_return connected.failure();
  co_return std::unique_ptr<SqlConnection>(std::move(connected).value());
}

void TableDatabase::close() {
  calls_.close();
  renewals_.close();
}

// ---- Errors ------------------------------------------------------------------------------------

Trouble TableDatabase::trouble_with(const SqlError& error) const {
  switch (error.number) {
    case 1205:  // lock wait timeout
    case 1213:  // deadlock
    case 1020:  // the record has changed
    case 1317:  // interrupted by an administrator
      return Trouble::again;
    case 1146: return Trouble::no_table;
    default: return Trouble::other;
  }
}

Failure TableDatabase::failure_of(const SqlError& error) const {
  if (error.cancelled && !error.may_have_run) {
    return Failure(Code::cancelled, "cancelled by the caller");
  }
  if (error.number == 1054) {
    return Failure(Code::misconfigured,
                   "MySQL at " + where_ + ": " + error.message +
                       "; the table holdfast_lock is of another version of Holdfast: stop all "
                       "programs that use it, drop it, and let `holdfast schema --on URL` make it "
                       "anew");
  }
  return mariadb_failure(error, where_);
}

Task<Result<void>> TableDatabase::make_tables(Deadline deadline) {
  constexpr const char* kHow = "`holdfast schema --on URL` prints the statement that makes it";
  if (!settings_.create_schema) {
    co_return Failure(Code::misconfigured,
                      "MySQL at " + where_ +
                          ": the table holdfast_lock is missing, and create_schema=no; " + kHow);
  }
  Result<table::ConnectionPool::Loan> loan = co_await calls_.take(deadline);
  if (!loan) co_return loan.failure();
  std::vector<SqlStatement> statements;
  for (const std::string& text : table_sql().schema) statements.push_back({text, {}});
  const SqlOutcome made = co_await (*loan)->run(std::move(statements), deadline);
  if (made.ok()) co_return Result<void>();
  SqlError error = *made.error;
  error.may_have_run = false;  // The next request will see.
  const Failure failure = failure_of(error);
  if (error.number != 1142 && error.number != 1044) co_return failure;
  co_return Failure(failure.code(), failure.message() +
                                        "; the table holdfast_lock is missing, and this user may "
                                        "not create it: " +
                                        kHow + ", for a user who may");
}

}  // namespace holdfast::internal::mysql
