#include "engines/postgres/postgres_table.h"

#include <charconv>

#include "engines/postgres/session_settings.h"
#include "engines/postgres/table_sql.h"

namespace holdfast::internal::postgres {

using table::Given;
using table::ProcessId;
using table::Trouble;

namespace {

// Every setting that matters here, whatever the database's defaults are; these win over those that all
// recipes share. A client that is stopped inside a transaction is thrown out after three seconds, and its
// locks on rows with it; so is one that does not read its answer, or whose host has vanished.
constexpr const char* kPrepareSession =
    ", set_config('idle_in_transaction_session_timeout', '3s', false),"
    " set_config('statement_timeout', '0', false), set_config('bytea_output', 'hex', false),"
    " set_config('tcp_user_timeout', '10s', false), set_config('tcp_keepalives_idle', '10', false),"
    " set_config('tcp_keepalives_interval', '5', false),"
    " set_config('tcp_keepalives_count', '3', false),"
    " CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL"
    " THEN set_config('transaction_timeout', '0', false) END,"
    " set_config('lock_timeout', $1, false), set_config('idle_session_timeout', $2, false)";
// A listener says nothing by itself: so often it is asked whether it is still there.
constexpr Duration kListenerPace = std::chrono::seconds(15);
constexpr const char* kNoPooling =
    "; is there a proxy that pools transactions? Connect to the server itself, or let the proxy "
    "pool sessions, or add pooled=yes";

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

std::vector<std::string> table_schema(const Settings& settings) {
  std::vector<std::string> statements = make_schema(settings);
  statements.insert(statements.end(), table_sql().schema.begin(), table_sql().schema.end());
  return statements;
}

// (A renewal is asked again and again: it need not wait for long at a time.)
const PostgresTable::Use PostgresTable::kCalls{.lock_timeout = "5s", .idle_timeout = "10min"};
const PostgresTable::Use PostgresTable::kRenewals{.lock_timeout = "1s", .idle_timeout = "10min"};
const PostgresTable::Use PostgresTable::kListening{.lock_timeout = "5s", .idle_timeout = "1min"};

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

// ---- Connections -------------------------------------------------------------------------------

Failure PostgresTable::failed(Code code, const std::string& why) const {
  return Failure(code, "PostgreSQL at " + settings_.login.endpoint.display() + ": " + why);
}

Task<Result<std::unique_ptr<PostgresConnection>>> PostgresTable::connect(Use use) {
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.connect_timeout);
  Result<std::unique_ptr<PostgresConnection>> connected =
      co_await PostgresConnection::connect(runtime_, settings_.login, deadline);
  if (!connected) co_return failed(connected.code(), connected.message());
  std::vector<SqlStatement> statements;
  // Behind a proxy the session may be another's: then nothing is set, or prepared, in it.
  const std::int64_t greeted_by = (*connected)->backend_pid();
  statements.push_back({"SELECT " + session_settings(settings_) + kPrepareSession +
                            " WHERE pg_backend_pid() = $3::integer",
                        {std::string(use.lock_timeout), std::string(use.idle_timeout), greeted_by},
                        true});
  for (SqlStatement& statement : use_schema(settings_, greeted_by)) {
    statements.push_back(std::move(statement));
  }
  const SqlOutcome prepared = co_await (*connected)->run(std::move(statements), deadline);
  if (!prepared.ok()) {
    SqlError error = *prepared.error;
    error.may_have_run = false;
    co_return failure_of(error);
  }
  if (prepared.results.at(0).empty()) {
    co_return failed(
        Code::misconfigured,
        std::string("another backend answers than the one that greeted us") + kNoPooling);
  }
  co_return connected;
}

Task<Result<std::unique_ptr<SqlConnection>>> PostgresTable::open(Use use) {
  Result<std::unique_ptr<PostgresConnection>> connected = co_await connect(use);
  if (!connected) co_return connected.failure();
  co_return std::unique_ptr<SqlConnection>(std::move(connected).value());
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

Trouble PostgresTable::trouble_with(const SqlError& error) const {
  // Deadlock, serialization, lock timeout, statement timeout.
  if (error.state == "40P01" || error.state == "40001" || error.state == "55P03" ||
      error.state == "57014") {
    return Trouble::again;
  }
  return error.state == "42P01" ? Trouble::no_table : Trouble::other;
}

Failure PostgresTable::failure_of(const SqlError& error) const {
  if (error.cancelled && !error.may_have_run) {
    return Failure(Code::cancelled, "cancelled by the caller");
  }
  if (error.may_have_run) return failed(Code::unknown, error.message);
  if (error.lost) return failed(Code::unreachable, error.message);
  const std::string_view state = error.state;
  if (state == "42501") {
    return failed(Code::misconfigured,
                  error.message +
                      "; the user needs SELECT, INSERT, UPDATE and DELETE on the tables "
                      "holdfast_lock, holdfast_holder and holdfast_waiter");
  }
  if (state == "25006") {
    return failed(Code::misconfigured,
                  error.message +
                      "; this server is read-only (a standby?): locks are at the one "
                      "that can be written");
  }
  if (state == "26000" || state == "42P05") {
    return failed(Code::misconfigured, error.message + kNoPooling);
  }
  const std::string_view kind = state.substr(0, 2);
  const bool passing = kind == "08" || kind == "53" || kind == "57" || kind == "58" ||
                       kind == "40" || kind == "55" || kind == "XX";
  return failed(passing ? Code::unreachable : Code::misconfigured, error.message);
}

Task<Result<void>> PostgresTable::make_tables(Deadline deadline) {
  if (!settings_.create_schema) {
    co_return failed(Code::misconfigured,
                     "the tables of the locks are missing, and create_schema=no; "
                     "`holdfast schema --on URL` prints the statements that make them");
  }
  Result<table::ConnectionPool::Loan> loan = co_await connections_.take(deadline);
  if (!loan) co_return loan.failure();
  // Several clients may come at the same moment, and IF NOT EXISTS does not stand that.
  constexpr std::int64_t kMakingTables = 0x686f6c6466617374;  // "holdfast"
  std::vector<SqlStatement> statements;
  statements.push_back({"SELECT pg_advisory_xact_lock($1)", {kMakingTables}});
  for (const std::string& text : tables()) statements.push_back({text, {}});
  loan->set_in_transaction(true);
  const SqlOutcome made = co_await (*loan)->run(std::move(statements), deadline);
  if (made.ok()) {
    loan->set_in_transaction(false);
    co_return Result<void>();
  }
  SqlError error = *made.error;
  error.may_have_run = false;  // Whoever comes next will see.
  if (error.state == "42501" || error.state == "3F000") {
    co_return failed(Code::misconfigured,
                     error.message +
                         "; the tables of the locks are missing, and this user may not "
                         "create them: `holdfast schema --on URL` prints the "
                         "statements for somebody who may");
  }
  co_return failure_of(error);
}

// ---- Waking ------------------------------------------------------------------------------------

Task<Result<void>> PostgresTable::listen(Deadline deadline, std::stop_token stop) {
  while (!listening()) {
    reopening_.begin();
    const Woken woken = co_await reopening_.wait(deadline, stop);
    if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
    if (woken == Woken::timed_out) {
      co_return failed(Code::unreachable, "no connection to listen on in time");
    }
    if (!reopening_.last()) co_return reopening_.last().failure();
  }
  if (!std::exchange(keeping_, true)) background_.spawn(keep_listening());
  co_return Result<void>();
}

Task<Result<void>> PostgresTable::open_listener() {
  Result<std::unique_ptr<PostgresConnection>> connected = co_await connect(kListening);
  if (!connected) co_return connected.failure();
  const auto fresh = static_cast<ProcessId>(runtime_.random() >> 1);
  std::vector<SqlStatement> statements;
  statements.push_back({"SELECT pg_advisory_lock($1)", {fresh}});
  statements.push_back({"LISTEN " + channel_of(fresh), {}});
  for (SqlStatement& statement : former_.move_to(fresh, dialect())) {
    statements.push_back(std::move(statement));
  }
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.connect_timeout);
  const SqlOutcome begun = co_await (*connected)->run(std::move(statements), deadline);
  if (!begun.ok()) {
    SqlError error = *begun.error;
    error.may_have_run = false;
    co_return failure_of(error);
  }
  former_.moved(fresh);
  listener_ = std::move(connected).value();
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

void PostgresTable::wake(const table::Wake& wake, const table::ServerRows&,
                         std::vector<SqlStatement>& inside, std::vector<SqlStatement>&) {
  inside.push_back(
      {"SELECT pg_notify($1::text, $2::text)", {channel_of(wake.process), payload_of(wake)}});
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
