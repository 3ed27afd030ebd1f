#include "engines/postgres/postgres_table.h"

#include <charconv>

#include "base/failures.h"
#include "engines/postgres/record_sql.h"
#include "engines/postgres/table_sql.h"
#include "sql/postgres/errors.h"
#include "sql/postgres/schema.h"

namespace holdfast::internal::postgres {

using table::Given;
using table::ProcessId;

namespace {

// A client that is stopped inside a transaction is thrown out after three seconds, and its locks on rows with it; so is
// one that does not read its answer, or whose host has vanished.
constexpr SessionUse use_with(const char* lock_timeout, const char* idle_timeout) {
  return {.lock_timeout = lock_timeout,
          .idle_timeout = idle_timeout,
          .idle_in_transaction_timeout = "3s",
          .unacknowledged_timeout = "10s",
          .keepalives = "3"};
}
constexpr SessionUse kCalls = use_with("5s", "10min");
// A renewal is asked again and again: it need not wait for long at a time.
constexpr SessionUse kRenewals = use_with("1s", "10min");
constexpr SessionUse kListening = use_with("5s", "1min");
constexpr const char* kRights =
    "SELECT, INSERT, UPDATE and DELETE on the tables holdfast_lock, holdfast_holder, "
    "holdfast_waiter and holdfast_record";
// A listener says nothing by itself: so often it is asked whether it is still there.
constexpr Duration kListenerPace = std::chrono::seconds(15);

std::string channel_of(ProcessId process) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string channel = "holdfast_";
  for (int shift = 60; shift >= 0; shift -= 4) channel += kDigits[(process >> shift) & 15];
  return channel;
}

std::string payload_of(const table::Wake& wake) {
  std::string payload = wake.claim.hex();
  if (!wake.given) return payload;
  return payload + " " + wake.given->token.str() + " " + std::to_string(wake.given->ttl.count());
}

}  // namespace

PostgresTable::PostgresTable(Runtime& runtime, Settings settings)
    : runtime_(runtime),
      settings_(std::move(settings)),
      connections_(
          runtime, [this] { return open(kCalls); }, settings_.connections,
          "PostgreSQL at " + settings_.login.endpoint.display()),
      renewals_(
          runtime, [this] { return open(kRenewals); }, table::kRenewalConnections,
          "PostgreSQL at " + settings_.login.endpoint.display()),
      wanted_(runtime),
      reopening_(
          runtime, [this] { return open_listener(); }, [] {}),
      background_(runtime) {}

const table::Dialect& PostgresTable::dialect() const { return table_sql(); }
const table::RecordSql& PostgresTable::record_sql() const { return postgres::record_sql(); }

// ---- Connections -------------------------------------------------------------------------------

Task<Result<std::unique_ptr<SqlConnection>>> PostgresTable::open(SessionUse use) {
  Result<NewSession> session = co_await open_session(runtime_, settings_, use, connect_deadline());
  if (!session) co_return session.failure();
  co_return std::unique_ptr<SqlConnection>(std::move(session->connection));
}

void PostgresTable::close() {
  background_.stop();
  background_.abandon();
  reopening_.abandon();
  listener_.reset();
  connections_.close();
  renewals_.close();
}

// ---- Errors ------------------------------------------------------------------------------------

SqlTrouble PostgresTable::trouble_with(const SqlError& error) const {
  return postgres::trouble_with(error);
}

Failure PostgresTable::failure_of(const SqlError& error) const {
  return reported_failure(runtime_, settings_, error, kRights);
}

Task<Result<void>> PostgresTable::make_tables(Deadline deadline) {
  if (!settings_.create_schema) co_return tables_missing(settings_);
  Result<table::ConnectionPool::Loan> loan = co_await connections_.take(deadline);
  if (!loan) co_return loan.failure();
  loan->set_in_transaction(true);
  const SqlOutcome made = co_await (*loan)->run(postgres::make_tables(settings_), deadline);
  if (made.ok()) {
    loan->set_in_transaction(false);
    co_return Result<void>();
  }
  // Whether they were made all the same, the next request finds out.
  const SqlError error = never_run(*made.error);
  const bool no_schema = error.state == "3F000";
  if (!refuses_user(error) && !no_schema) co_return failure_of(error);
  const Failure why = settings_.failure(
      Code::misconfigured, error.message +
                               "; the tables of the locks are missing, and this user may not "
                               "create them: `holdfast schema --on URL` prints the "
                               "statements for somebody who may");
  report_refused(runtime_, settings_.login.endpoint.display(), why);
  co_return why;
}

// ---- Waking ------------------------------------------------------------------------------------

Task<Result<void>> PostgresTable::listen(Deadline deadline, std::stop_token stop) {
  while (!listening()) {
    reopening_.begin();
    const Woken woken = co_await reopening_.wait(deadline, stop);
    if (woken == Woken::cancelled) co_return cancelled_by_caller();
    if (woken == Woken::timed_out) {
      co_return settings_.failure(Code::unreachable, "no connection to listen on in time");
    }
    if (!reopening_.last()) co_return reopening_.last().failure();
  }
  if (!std::exchange(keeping_, true)) background_.spawn(keep_listening());
  co_return Result<void>();
}

Task<Result<void>> PostgresTable::open_listener() {
  Result<NewSession> session =
      co_await open_session(runtime_, settings_, kListening, connect_deadline());
  if (!session) co_return session.failure();
  const auto fresh = static_cast<ProcessId>(runtime_.random() >> 1);
  std::vector<SqlStatement> statements;
  statements.push_back({"SELECT pg_advisory_lock($1)", {fresh}});
  statements.push_back({"LISTEN " + channel_of(fresh), {}});
  for (SqlStatement& statement : previous_.move_to(fresh, dialect())) {
    statements.push_back(std::move(statement));
  }
  const SqlOutcome begun =
      co_await session->connection->run(std::move(statements), connect_deadline());
  if (!begun.ok()) co_return failure_of(never_run(*begun.error));
  previous_.moved(fresh);
  listener_ = std::move(session->connection);
  listening_since_ = runtime_.now();
  process_ = fresh;
  listener_->hear_notifications(
      [this](std::string_view, std::string_view payload) { on_notification(payload); });
  co_return Result<void>();
}

Task<void> PostgresTable::keep_listening() {
  const std::stop_token stop = background_.stop_token();
  ProcessId heard_as = process_;
  for (;;) {
    if (co_await wanted_.wait(Deadline::never(), stop) == Woken::cancelled) co_return;
    if (!listening()) {
      // The pause between two attempts is Reopening's.
      reopening_.begin();
      if (co_await reopening_.wait(Deadline::never(), stop) == Woken::cancelled) co_return;
      if (!listening()) continue;
    }
    // It may also be somebody else who has opened it anew.
    if (std::exchange(heard_as, process_) != process_ && on_deaf) on_deaf();
    const Deadline pace = Deadline::at(runtime_.now() + runtime_.jitter(kListenerPace));
    const Woken woken = co_await listener_->lost().wait(pace, stop);
    if (woken == Woken::cancelled) co_return;
    if (woken != Woken::timed_out) continue;
    if (!anyone_waits()) {
      wanted_.reset();
    } else {
      co_await prove_listener();
    }
  }
}

Task<void> PostgresTable::prove_listener() {
  std::vector<SqlStatement> anything(1, SqlStatement{"SELECT 1", {}});
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.request_timeout);
  const std::shared_ptr<PostgresConnection> listener = listener_;
  // One that does not answer is closed, and replaced.
  static_cast<void>(
      co_await listener->run(std::move(anything), deadline, background_.stop_token()));
}

void PostgresTable::now_waiting(const std::string&) { wanted_.set(); }

void PostgresTable::missed_wake() {
  const bool is_new = runtime_.now() < listening_since_ + table::kNewListener;
  if (listener_ && !is_new) listener_->close();
}

SqlStatement PostgresTable::wake(const table::Wake& wake) {
  return {"SELECT pg_notify($1::text, $2::text)", {channel_of(wake.process), payload_of(wake)}};
}

void PostgresTable::on_notification(std::string_view payload) {
  constexpr std::size_t kHex = 2 * ClaimId::kBytes;
  const std::optional<ClaimId> claim = ClaimId::from_hex(payload.substr(0, kHex));
  if (!claim || !on_wake) return;
  std::optional<Given> given;
  if (payload.size() > kHex) {
    std::uint64_t token = 0;
    std::int64_t ttl = 0;
    const char* end = payload.data() + payload.size();
    const auto first = std::from_chars(payload.data() + kHex + 1, end, token);
    if (first.ec == std::errc() && first.ptr != end &&
        std::from_chars(first.ptr + 1, end, ttl).ec == std::errc()) {
      given = Given{Token(token), Duration(ttl)};
    }
  }
  on_wake(*claim, given);
}

}  // namespace holdfast::internal::postgres
