#include "engines/mysql/table_database.h"

#include "sql/mysql/errors.h"
#include "sql/mysql/schema.h"
#include "sql/mysql/session.h"

namespace holdfast::internal::mysql {

namespace {

// net_write_timeout: an answer that nobody reads ends its session.
constexpr const char* kSettings =
    ", SESSION time_zone = '+00:00', SESSION net_write_timeout = 5,"
    " SESSION innodb_lock_wait_timeout = ";

std::size_t pool_size(const Settings& settings) {
  // Calls are short. (The option's default is for recipes that need a connection for each lease.)
  constexpr std::size_t kEnough = 4;
  return settings.connections == Settings{}.connections ? kEnough : settings.connections;
}

}  // namespace

TableDatabase::TableDatabase(Runtime& runtime, Settings settings)
    : runtime_(runtime),
      settings_(std::move(settings)),
      calls_(
          runtime, [this] { return open(Use::calls); }, pool_size(settings_),
          "MySQL at " + settings_.connection.endpoint.display()),
      renewals_(
          runtime, [this] { return open(Use::renewals); }, table::kRenewalConnections,
          "MySQL at " + settings_.connection.endpoint.display()),
      requests_(runtime, *this, settings_.request_timeout) {}

Task<Result<std::unique_ptr<MariadbConnection>>> TableDatabase::connect(Use use) {
  // A renewal is asked again and again, and one connection has all the names: they need not wait for long at a time.
  const bool waits = use == Use::calls || use == Use::sleeping;
  const bool pooled = use == Use::calls || use == Use::renewals;
  SessionUse session_use{.wait_timeout_s = pooled ? "600" : "60",
                         .more = std::string(kSettings) + (waits ? "5" : "1")};
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.connection.connect_timeout);
  Result<NewSession> session =
      co_await open_session(runtime_, settings_, std::move(session_use), deadline);
  if (!session) co_return session.failure();
  co_return std::move(session->connection);
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

SqlTrouble TableDatabase::trouble_with(const SqlError& error) const {
  return mysql::trouble_with(error);
}

Failure TableDatabase::failure_of(const SqlError& error) const {
  constexpr int kNoSuchColumn = 1054;
  if (error.number != kNoSuchColumn) return reported_failure(runtime_, settings_, error);
  return settings_.failure(
      Code::misconfigured,
      error.message +
          "; the table holdfast_lock is of another version of Holdfast: stop all "
          "programs that use it, drop it, and let `holdfast schema --on URL` make it anew");
}

Task<Result<void>> TableDatabase::make_tables(Deadline deadline) {
  if (!settings_.create_schema) co_return tables_missing(settings_);
  Result<table::ConnectionPool::Loan> loan = co_await calls_.take(deadline);
  if (!loan) co_return loan.failure();
  const SqlOutcome made = co_await (*loan)->run(mysql::make_tables(settings_), deadline);
  if (made.ok()) co_return Result<void>();
  // Whether it was made all the same, the next request finds out.
  const SqlError error = never_run(*made.error);
  const Failure failure = failure_of(error);
  if (!refuses_user(error)) co_return failure;
  co_return Failure(failure.code(),
                    failure.message() +
                        "; the table holdfast_lock is missing, and this user may not create it: "
                        "`holdfast schema --on URL` prints the statement that makes it, for a "
                        "user who may");
}

}  // namespace holdfast::internal::mysql
