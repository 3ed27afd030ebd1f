#include "engines/mysql/mysql_table.h"

#include "engines/mysql/table_sql.h"

namespace holdfast::internal::mysql {

using table::ProcessId;
using table::Trouble;

namespace {

constexpr int kInterrupted = 1317;
constexpr Duration kLongestSleep = std::chrono::seconds(60);

// READ COMMITTED locks the rows that are changed, and not the gaps between them.
constexpr const char* kPrepareSession =
    "SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES', autocommit = 1,"
    " innodb_lock_wait_timeout = 5";
constexpr const char* kIsolate = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

// Lets numbered parameters through to a driver that wants them in order.
class OrderedConnection final : public SqlConnection {
 public:
  explicit OrderedConnection(std::unique_ptr<MariadbConnection> inner) : inner_(std::move(inner)) {}

  Task<SqlOutcome> run(std::vector<SqlStatement> statements, Deadline deadline,
                       std::stop_token stop) override {
    for (SqlStatement& statement : statements) statement = in_order(statement);
    return inner_->run(std::move(statements), deadline, std::move(stop));
  }
  bool connected() const override { return inner_->connected(); }
  Event& lost() override { return inner_->lost(); }
  void close() override { inner_->close(); }

 private:
  std::unique_ptr<MariadbConnection> inner_;
};

std::size_t pool_size(const Settings& settings) {
  // Most leases need none: what a recipe that holds one for each may open says nothing here.
  constexpr std::size_t kEnough = 4;
  return settings.connections == Settings{}.connections ? kEnough : settings.connections;
}

}  // namespace

MysqlTable::MysqlTable(Runtime& runtime, Settings settings)
    : runtime_(runtime),
      settings_(std::move(settings)),
      where_(settings_.connection.endpoint.display()),
      connections_(
          runtime, [this] { return open(); }, pool_size(settings_)),
      wanted_(runtime),
      reopening_(
          runtime, [this] { return open_listener(); }, [] {}),
      background_(runtime) {}

const table::Dialect& MysqlTable::dialect() const { return table_sql(); }

// ---- Connections -------------------------------------------------------------------------------

Task<Result<std::unique_ptr<MariadbConnection>>> MysqlTable::connect() {
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.connection.connect_timeout);
  Result<std::unique_ptr<MariadbConnection>> connected =
      co_await MariadbConnection::connect(runtime_, settings_.connection, deadline);
  if (!connected) co_return connected.failure();
  std::vector<SqlStatement> statements;
  statements.push_back({kPrepareSession, {}});
  statements.push_back({kIsolate, {}});
  const SqlOutcome prepared = co_await (*connected)->run(std::move(statements), deadline);
  if (!prepared.ok()) {
    SqlError error = *prepared.error;
    error.may_have_run = false;
    co_return failure_of(error);
  }
  co_return connected;
}

Task<Result<std::unique_ptr<SqlConnection>>> MysqlTable::open() {
  Result<std::unique_ptr<MariadbConnection>> connected = co_await connect();
  if (!connected) co_return connected.failure();
  co_return std::unique_ptr<SqlConnection>(
      std::make_unique<OrderedConnection>(std::move(connected).value()));
}

void MysqlTable::close() {
  background_.stop();
  background_.abandon();
  reopening_.abandon();
  listener_.reset();
  connections_.close();
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
  Result<std::unique_ptr<MariadbConnection>> connected = co_await connect();
  if (!connected) co_return connected.failure();
  // Short enough for a name that is made of it to be distinct in any type of number.
  const auto fresh = static_cast<ProcessId>(runtime_.random() >> 2);
  std::vector<SqlStatement> statements;
  statements.push_back({"SELECT GET_LOCK(?, 0)", {"holdfast:wake:" + std::to_string(fresh)}});
  statements.push_back({"INSERT INTO holdfast_bell(process, rung) VALUES(?, 0)", {fresh}});
  // Those who wait still keep their places.
  if (process_ != 0) {
    statements.push_back(in_order({dialect().move_waiters, {fresh, process_}}));
    statements.push_back({"DELETE FROM holdfast_bell WHERE process = ?", {process_}});
  }
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.connection.connect_timeout);
  SqlOutcome begun = co_await (*connected)->run(statements, deadline);
  if (!begun.ok() && trouble_with(*begun.error) == Trouble::no_table) {
    const Result<void> made = co_await make_tables(deadline);
    if (!made) co_return made.failure();
    begun = co_await (*connected)->run(statements, deadline);
  }
  if (!begun.ok()) {
    SqlError error = *begun.error;
    error.may_have_run = false;
    co_return failure_of(error);
  }
  const SqlRows& named = begun.results.at(0);
  if (named.empty() || named.null(0, 0) || named.number(0, 0) != 1) {
    co_return Failure(Code::unreachable, "MySQL at " + where_ + ": GET_LOCK gave nothing");
  }
  listener_ = std::move(connected).value();
  process_ = fresh;
  crowd_ = {};
  co_return Result<void>();
}

Task<void> MysqlTable::keep_listening() {
  const std::stop_token stop = background_.stop_token();
  for (;;) {
    if (co_await wanted_.wait(Deadline::never(), stop) == Woken::cancelled) co_return;
    if (!listening()) {
      // The pause between two attempts is Reopening's.
      reopening_.begin();
      if (co_await reopening_.wait(Deadline::never(), stop) == Woken::cancelled) co_return;
      if (!listening()) continue;
      if (on_deaf) on_deaf();
    }
    co_await sleep_and_look();
    if (stop.stop_requested()) co_return;
  }
}

Task<void> MysqlTable::sleep_and_look() {
  std::vector<SqlStatement> statements;
  const bool sleeps = crowd_.count >= 0;
  if (sleeps) {
    // From here on it may be rung again; what was granted before is seen when the sleep begins.
    statements.push_back(
        {"UPDATE holdfast_bell SET rung = 0 WHERE process = ? AND rung > 0", {process_}});
    statements.push_back(
        {"SELECT SLEEP(?) FROM (SELECT COUNT(*) AS count, COALESCE(SUM(seq), 0) AS seqs"
         " FROM holdfast_waiter WHERE process = ?) w WHERE w.count = ? AND w.seqs = ?",
         {std::int64_t{std::chrono::duration_cast<std::chrono::seconds>(kLongestSleep).count()},
          process_, crowd_.count, crowd_.seqs}});
  }
  statements.push_back({"SELECT claim, seq FROM holdfast_waiter WHERE process = ?", {process_}});
  const bool one_waited = crowd_.count == 1;
  crowd_ = {};
  others_came_ = false;
  const Deadline deadline =
      Deadline::at(runtime_.now() + kLongestSleep + settings_.request_timeout);
  if (sleeps) listener_->expect_to_wait();
  const SqlOutcome outcome =
      co_await listener_->run(std::move(statements), deadline, background_.stop_token());
  if (outcome.ok()) {
    see(outcome.results.back());
    co_return;
  }
  if (outcome.error->number == kInterrupted) {
    // Somebody ended our sleep. Who is alone knows whom that is for; else we look first.
    if (one_waited && !others_came_ && on_present) on_present({});
    co_return;
  }
  const BootTime again = runtime_.now() + runtime_.jitter(std::chrono::milliseconds(100));
  static_cast<void>(co_await sleep_until(runtime_, again, background_.stop_token()));
}

void MysqlTable::see(const SqlRows& rows) {
  std::unordered_set<ClaimId> present;
  crowd_ = {.count = static_cast<std::int64_t>(rows.rows.size())};
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    present.insert(table::claim_from(rows.bytes(i, 0)));
    crowd_.seqs += rows.number(i, 1);
  }
  if (present.empty()) {
    wanted_.reset();
    crowd_ = {};  // Whoever wants us next is somebody else.
  }
  if (on_present) on_present(present);
}

void MysqlTable::now_waiting() {
  wanted_.set();
  others_came_ = true;
}

void MysqlTable::wake(const table::Wake& wake, const table::ServerRows& rows,
                      std::vector<SqlStatement>& inside, std::vector<SqlStatement>& after) {
  // Read while the row was ours; who went since then is not there to be woken.
  const std::int64_t session = rows.listener_of(wake.process);
  if (session <= 0) return;
  const std::string ring = "@holdfast_ring_" + std::to_string(after.size());
  inside.push_back({ring_bell_of("$1"), {wake.process}});
  // A KILL cannot be left out by a condition, unless it is made of text.
  inside.push_back({"SET " + ring + " = IF(ROW_COUNT() = 1, 'KILL QUERY " +
                        std::to_string(session) + "', 'DO 0')",
                    {}});
  after.push_back({"PREPARE holdfast_ring FROM " + ring, {}});
  after.push_back({"EXECUTE holdfast_ring", {}});
}

}  // namespace holdfast::internal::mysql
