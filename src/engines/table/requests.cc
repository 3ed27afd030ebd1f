#include "engines/table/requests.h"

namespace holdfast::internal::table {

Task<std::optional<Failure>> Requests::recover(SqlError error, Deadline limit, Deadline deadline) {
  const Failure failure = judge_.failure_of(error);
  if (limit.passed(runtime_.now()) || error.cancelled) co_return failure;
  // Another connection may tell; each request can be repeated.
  if (error.lost && (error.may_have_run || error.read_only)) co_return std::nullopt;
  if (error.lost) co_return failure;
  const SqlTrouble trouble = judge_.trouble_with(error);
  if (trouble == SqlTrouble::other) co_return failure;
  if (trouble == SqlTrouble::no_table) {
    const Result<void> made = co_await judge_.make_tables(deadline);
    if (!made) co_return made.failure();
    co_return std::nullopt;
  }
  const BootTime again = runtime_.now() + runtime_.jitter(std::chrono::milliseconds(2), 0.9);
  static_cast<void>(co_await sleep_until(runtime_, again));
  co_return std::nullopt;
}

Task<Result<Requests::Asked>> Requests::ask(ConnectionPool& connections,
                                            std::vector<SqlStatement> statements, Deadline deadline,
                                            std::stop_token stop, ConnectionPool::Urgency urgency) {
  bool repeated = false;
  for (;;) {
    SqlOutcome outcome;
    Deadline limit = deadline;
    {
      Result<ConnectionPool::Loan> loan = co_await connections.take(deadline, stop, urgency);
      if (!loan) co_return repeated ? unknown(loan.failure()) : loan.failure();
      loan->set_in_transaction(true);
      limit = limit_of(deadline);
      // Not to be cancelled: that closes the connection, and the server may execute what has
      // arrived there after we have taken it back elsewhere.
      outcome = co_await (*loan)->run_borrowed(statements, limit);
      // After an error it may be inside one; that is rare enough to begin with another.
      loan->set_in_transaction(!outcome.ok());
    }
    if (outcome.ok()) co_return Asked{std::move(outcome), repeated};
    const std::optional<Failure> failure = co_await recover(*outcome.error, limit, deadline);
    if (failure) co_return repeated ? unknown(*failure) : *failure;
    repeated = repeated || outcome.error->may_have_run;
  }
}

}  // namespace holdfast::internal::table
