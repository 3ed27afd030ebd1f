#include "engines/mysql/mysql_table.h"

#include <algorithm>

#include "engines/mysql/table_sql.h"

namespace holdfast::internal::mysql {

using table::ProcessId;
using table::Trouble;

namespace {

constexpr int kInterrupted = 1317;
// Not longer: while it lasts, the server keeps what the rows were when it began.
constexpr Duration kLongestSleep = std::chrono::seconds(15);

// A keeper says nothing by itself: so often it is made to, while anybody waits.
constexpr Duration kKeeperPace = std::chrono::seconds(20);

// Every setting that matters here, whatever the server's defaults are. net_write_timeout: an answer that
// nobody reads ends its transaction.
constexpr const char* kPrepareSession =
    "SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES', autocommit = 1,"
    " completion_type = 0, sql_safe_updates = 0, sql_select_limit = 18446744073709551615,"
    " net_write_timeout = 5, innodb_lock_wait_timeout = ";
// READ COMMITTED locks the rows that are changed, and not the gaps between them.
constexpr const char* kIsolate =
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";

// A listener waits longer than any query. A client that is stopped inside a transaction is thrown out
// after a few seconds, and its locks on rows with it; see Bounded for MySQL.
std::string limits_of(const MariadbConnection& connection) {
  if (!connection.is_mariadb()) return "SET SESSION max_execution_time = 0";
  std::string text = "SET SESSION max_statement_time = 0";
  for (const char* each : {"idle_transaction_timeout", "idle_write_transaction_timeout",
                           "idle_readonly_transaction_timeout"}) {
    text += std::string(", ") + each + " = " + kTransactionTimeout;
  }
  return text;
}

// Lets numbered parameters through to a driver that wants them in order.
class OrderedConnection final : public SqlConnection {
 public:
  explicit OrderedConnection(std::unique_ptr<MariadbConnection> inner) : inner_(std::move(inner)) {}

  Task<SqlOutcome> run(std::vector<SqlStatement> statements, Deadline deadline,
                       std::stop_token stop) override {
    for (SqlStatement& statement : statements) statement = in_order(statement);
    if (inner_->is_mariadb()) {
      return inner_->run(std::move(statements), deadline, std::move(stop));
    }
    return run_bounded(Bounded(std::move(statements)), deadline, std::move(stop));
  }
  bool connected() const override { return inner_->connected(); }
  Event& lost() override { return inner_->lost(); }
  void close() override { inner_->close(); }

 private:
  Task<SqlOutcome> run_bounded(Bounded bounded, Deadline deadline, std::stop_token stop) {
    SqlOutcome outcome =
        co_await inner_->run(std::move(bounded.statements), deadline, std::move(stop));
    bounded.strip(outcome);
    co_return outcome;
  }

  std::unique_ptr<MariadbConnection> inner_;
};

std::size_t pool_size(const Settings& settings) {
  // Most leases need none: what a recipe that holds one for each may open says nothing here.
  constexpr std::size_t kEnough = 4;
  return settings.connections == Settings{}.connections ? kEnough : settings.connections;
}

}  // namespace

// (A renewal is asked again and again: it need not wait for long at a time.)
const MysqlTable::Use MysqlTable::kCalls{.lock_wait_s = "5", .wait_timeout_s = kCallTimeout};
const MysqlTable::Use MysqlTable::kRenewals{.lock_wait_s = "1", .wait_timeout_s = kCallTimeout};
const MysqlTable::Use MysqlTable::kListening{.lock_wait_s = "5",
                                             .wait_timeout_s = kListenerTimeout};

MysqlTable::MysqlTable(Runtime& runtime, Settings settings)
    : runtime_(runtime),
      settings_(std::move(settings)),
      where_(settings_.connection.endpoint.display()),
      connections_(
          runtime, [this] { return open(kCalls); }, pool_size(settings_), "MySQL at " + where_),
      renewals_(
          runtime, [this] { return open(kRenewals); }, table::kRenewalConnections,
          "MySQL at " + where_),
      wanted_(runtime),
      reopening_(
          runtime, [this] { return open_listener(); }, [] {}),
      background_(runtime) {}

const table::Dialect& MysqlTable::dialect() const { return table_sql(); }

// ---- Connections -------------------------------------------------------------------------------

Task<Result<std::unique_ptr<MariadbConnection>>> MysqlTable::connect(Use use) {
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.connection.connect_timeout);
  Result<std::unique_ptr<MariadbConnection>> connected =
      co_await MariadbConnection::connect(runtime_, settings_.connection, deadline);
  if (!connected) co_return connected.failure();
  std::vector<SqlStatement> statements;
  statements.push_back(
      {std::string(kPrepareSession) + use.lock_wait_s + ", wait_timeout = " + use.wait_timeout_s,
       {}});
  statements.push_back({kIsolate, {}});
  statements.push_back({limits_of(**connected), {}});
  const SqlOutcome prepared = co_await (*connected)->run(std::move(statements), deadline);
  if (!prepared.ok()) {
    SqlError error = *prepared.error;
    error.may_have_run = false;
    co_return failure_of(error);
  }
  co_return connected;
}

Task<Result<std::unique_ptr<SqlConnection>>> MysqlTable::open(Use use) {
  Result<std::unique_ptr<MariadbConnection>> connected = co_await connect(use);
  if (!connected) co_return connected.failure();
  co_return std::unique_ptr<SqlConnection>(
      std::make_unique<OrderedConnection>(std::move(connected).value()));
}

void MysqlTable::close() {
  background_.stop();
  background_.abandon();
  reopening_.abandon();
  listener_.reset();
  keeper_.reset();
  connections_.close();
  renewals_.close();
}

// ---- Errors ------------------------------------------------------------------------------------

Trouble MysqlTable::trouble_with(const SqlError& error) const {
  switch (error.number) {
    case 1205:  // lock wait timeout
    case 1213:  // deadlock
    case 1020:  // the record has changed
    case kInterrupted: return Trouble::again;
    case 1146: return Trouble::no_table;
    default: return Trouble::other;
  }
}

Failure MysqlTable::failure_of(const SqlError& error) const {
  if (error.cancelled && !error.may_have_run) {
    return Failure(Code::cancelled, "cancelled by the caller");
  }
  if (error.number == 1665) {
    return Failure(Code::misconfigured, "MySQL at " + where_ + ": " + error.message +
                                            "; set binlog_format to MIXED or ROW");
  }
  return mariadb_failure(error, where_);
}

Task<Result<void>> MysqlTable::make_tables(Deadline deadline) {
  if (!settings_.create_schema) {
    co_return Failure(Code::misconfigured,
                      "MySQL at " + where_ +
                          ": the tables of the locks are missing, and create_schema=no; "
                          "`holdfast schema --on URL` prints the statements that make them");
  }
  Result<table::ConnectionPool::Loan> loan = co_await connections_.take(deadline);
  if (!loan) co_return loan.failure();
  std::vector<SqlStatement> statements;
  for (const std::string& text : dialect().schema) statements.push_back({text, {}});
  const SqlOutcome made = co_await (*loan)->run(std::move(statements), deadline);
  if (made.ok()) co_return Result<void>();
  SqlError error = *made.error;
  error.may_have_run = false;  // Whoever comes next will see.
  const Failure failure = failure_of(error);
  if (error.number != 1142 && error.number != 1044) co_return failure;
  co_return Failure(failure.code(), failure.message() +
                                        "; the tables of the locks are missing, and this user may "
                                        "not create them: `holdfast schema --on URL` prints the "
                                        "statements for somebody who may");
}

// ---- Waking ------------------------------------------------------------------------------------

Task<Result<void>> MysqlTable::listen(Deadline deadline, std::stop_token stop) {
  while (!listening()) {
    reopening_.begin();
    const Woken woken = co_await reopening_.wait(deadline, stop);
    if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
    if (woken == Woken::timed_out) {
      co_return Failure(Code::unreachable,
                        "MySQL at " + where_ + ": no connection to wait on in time");
    }
    if (!reopening_.last()) co_return reopening_.last().failure();
  }
  if (!std::exchange(keeping_, true)) background_.spawn(keep_listening());
  co_return Result<void>();
}

Task<Result<void>> MysqlTable::open_listener() {
  Result<std::unique_ptr<MariadbConnection>> connected = co_await connect(kListening);
  if (!connected) co_return connected.failure();
  // Short enough for a name that is made of it to be distinct in any type of number.
  const auto fresh = static_cast<ProcessId>(runtime_.random() >> 2);
  Result<std::unique_ptr<MariadbConnection>> keeper = co_await open_keeper(fresh);
  if (!keeper) co_return keeper.failure();
  std::vector<SqlStatement> statements;
  statements.push_back({"SELECT GET_LOCK(?, 0)", {"holdfast:wake:" + std::to_string(fresh)}});
  for (SqlStatement& statement : former_.move_to(fresh, dialect())) {
    statements.push_back(in_order(statement));
  }
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.connection.connect_timeout);
  const SqlOutcome begun = co_await (*connected)->run(std::move(statements), deadline);
  const Result<void> named = lock_taken(begun);
  if (!named) co_return named;
  former_.moved(fresh);
  if (listener_) listener_->close();  // Who still sleeps in it looks again.
  listener_ = std::move(connected).value();
  keeper_ = std::move(keeper).value();
  keeper_heard_at_ = runtime_.now();
  listening_since_ = runtime_.now();
  process_ = fresh;
  co_return Result<void>();
}

Task<Result<std::unique_ptr<MariadbConnection>>> MysqlTable::open_keeper(ProcessId process) {
  Result<std::unique_ptr<MariadbConnection>> connected = co_await connect(kListening);
  if (!connected) co_return connected.failure();
  std::vector<SqlStatement> statements;
  statements.push_back({"SELECT GET_LOCK(?, 0)", {hush_of(process)}});
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.connection.connect_timeout);
  const SqlOutcome kept = co_await (*connected)->run(std::move(statements), deadline);
  const Result<void> taken = lock_taken(kept);
  if (!taken) co_return taken.failure();
  co_return connected;
}

bool MysqlTable::got_lock(const SqlOutcome& outcome) {
  const SqlRows& named = outcome.results.at(0);
  return !named.empty() && !named.null(0, 0) && named.number(0, 0) == 1;
}

Result<void> MysqlTable::lock_taken(const SqlOutcome& outcome) const {
  if (!outcome.ok()) {
    SqlError error = *outcome.error;
    error.may_have_run = false;  // Whatever it did ends with its connection.
    return failure_of(error);
  }
  if (got_lock(outcome)) return Result<void>();
  return Failure(Code::unreachable, "MySQL at " + where_ + ": GET_LOCK gave nothing");
}

Task<void> MysqlTable::keep_listening() {
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
    if (runtime_.now() - keeper_heard_at_ > kKeeperPace) background_.spawn(keep_keeper());
    // It may also be somebody else who has opened it anew.
    if (std::exchange(heard_as, process_) != process_ && on_deaf) on_deaf();
    co_await sleep_and_look();
    if (stop.stop_requested()) co_return;
  }
}

Task<void> MysqlTable::keep_keeper() {
  // Another one may take its place meanwhile. One that does not answer is closed, and replaced.
  const std::shared_ptr<MariadbConnection> keeper = keeper_;
  std::vector<SqlStatement> anything(1, SqlStatement{"DO 0", {}});
  // It is over before the next one is due.
  const Duration patience = std::min<Duration>(settings_.request_timeout, kKeeperPace / 2);
  const Deadline deadline = Deadline::at(runtime_.now() + patience);
  keeper_heard_at_ = runtime_.now();
  static_cast<void>(co_await keeper->run(std::move(anything), deadline, background_.stop_token()));
}

Task<void> MysqlTable::sleep_and_look() {
  const std::vector<Awaited> waiting = awaited();
  if (waiting.empty()) {
    wanted_.reset();
    co_return;
  }
  Listening listening = listen_for(waiting, process_, kLongestSleep);
  std::vector<SqlStatement> first(1, std::move(listening.sleep));
  std::vector<SqlStatement> news(1, std::move(listening.news));
  const Deadline deadline =
      Deadline::at(runtime_.now() + kLongestSleep + settings_.request_timeout);
  // Another one may take its place meanwhile.
  const std::shared_ptr<MariadbConnection> listener = listener_;
  listener->expect_to_wait();
  const SqlOutcome outcome = co_await listener->run_behind(std::move(first), std::move(news),
                                                           deadline, background_.stop_token());
  const SqlOutcome& slept = listener->first_answer();
  if (slept.ok() && !slept.results.empty() && got_lock(slept)) {
    // Nobody keeps it from us any more.
    listener->close();
    co_return;
  }
  if (outcome.ok()) {
    tell(outcome.results.back());
    co_return;
  }
  // It was this one that somebody ended.
  if (outcome.error->number == kInterrupted) co_return;
  const BootTime again = runtime_.now() + runtime_.jitter(std::chrono::milliseconds(100));
  static_cast<void>(co_await sleep_until(runtime_, again, background_.stop_token()));
}

void MysqlTable::tell(const SqlRows& news) {
  for (std::size_t i = 0; i < news.rows.size(); ++i) {
    const ClaimId claim = table::claim_from(news.bytes(i, 0));
    const Duration left(news.number(i, 2));
    if (left > Duration::zero()) {
      on_wake(claim, table::Given{table::token_from(news.number(i, 1)), left});
    } else {
      on_wake(claim, std::nullopt);
    }
  }
}

void MysqlTable::now_waiting() { wanted_.set(); }

void MysqlTable::missed_wake() {
  const bool is_new = runtime_.now() < listening_since_ + table::kNewListener;
  if (listener_ && !is_new) listener_->close();
}

void MysqlTable::wake(const table::Wake& wake, const table::ServerRows& rows,
                      std::vector<SqlStatement>&, std::vector<SqlStatement>& after) {
  // Read while the row was ours; who went since then is not there to be woken.
  const std::int64_t session = rows.listener_of(wake.process);
  if (session <= 0) return;
  const std::string kill = "KILL QUERY " + std::to_string(session);
  const auto same = [&](const SqlStatement& each) { return each.text == kill; };
  if (std::none_of(after.begin(), after.end(), same)) after.push_back({kill, {}});
}

}  // namespace holdfast::internal::mysql
