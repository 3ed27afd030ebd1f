#include "wire/postgres_connection.h"

#include <charconv>

#include "base/failures.h"
#include "base/require.h"
#include "base/server_reporter.h"
#include "wire/connect.h"
#include "wire/resolve.h"

namespace holdfast::internal {

namespace {

constexpr Oid kByteaType = 17;

// Reads a column of bytes as the server sends it: "\x" and hexadecimal digits.
std::string from_hex(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return (c | 0x20) - 'a' + 10;
  };
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 2; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1]));
  }
  return bytes;
}

// libpq's messages end their lines, and have several of them.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char each : text) {
    if (each != '\n') {
      line += each;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

// Whether a connection that was refused so will be refused again, until somebody mends it.
bool for_people_to_mend(std::string_view message) {
  for (const char* sign : {"authentication failed", "no password supplied", "does not exist",
                           "pg_hba.conf", "certificate", "permission denied for database",
                           "is not permitted to log in", "server does not support SSL", "root.crt",
                           "SSL error", "could not load", "no PostgreSQL user name"}) {
    if (message.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

// Null if there is no memory.
PGconn* start_session(const LibPq& library, const PostgresLogin& login,
                      const std::string& address) {
  const bool local = !login.endpoint.unix_path.empty();
  const std::string port = std::to_string(login.endpoint.port);
  const std::string& host = local ? login.endpoint.unix_path : login.endpoint.host;
  std::vector<std::pair<const char*, const char*>> settings{
      {"host", host.c_str()},
      {"port", port.c_str()},
      {"application_name", login.application.c_str()},
      {"client_encoding", "UTF8"},
      {"gssencmode", "disable"},
      {"sslmode", local ? "disable" : login.tls.c_str()},
      {"keepalives_idle", "10"},
      {"keepalives_interval", "5"},
      {"keepalives_count", "3"},
  };
  const auto add = [&](const char* keyword, const std::string& value) {
    if (!value.empty()) settings.emplace_back(keyword, value.c_str());
  };
  add("hostaddr", address);
  add("user", login.user);
  add("password", login.password);
  add("dbname", login.database);
  add("sslrootcert", login.ca_file);
  add("sslcert", login.certificate_file);
  add("sslkey", login.key_file);
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : settings) {
    keywords.push_back(keyword);
    values.push_back(value);
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return library.PQconnectStartParams(keywords.data(), values.data(), 0);
}

}  // namespace

PostgresConnection::PostgresConnection(Runtime& runtime, const LibPq& library, PGconn* session)
    : runtime_(static_cast<RealRuntime&>(runtime)),
      library_(library),
      session_(session),
      lost_(runtime) {
  runtime_.add_lookout(*this);
}

PostgresConnection::~PostgresConnection() {
  close();
  runtime_.remove_lookout(*this);
}

// ---- Connecting --------------------------------------------------------------------------------

Task<Result<std::unique_ptr<PostgresConnection>>> PostgresConnection::connect(
    Runtime& runtime, PostgresLogin login, Deadline deadline, std::stop_token stop) {
  if (login.group) co_return co_await connect_to_primary(runtime, std::move(login), deadline);
  const std::string server = login.endpoint.display();
  Result<std::unique_ptr<PostgresConnection>> made =
      co_await contained(connect_to_server(runtime, std::move(login), deadline, std::move(stop)));
  report_opening(runtime, server, made);
  if (made) (*made)->server_ = server;
  co_return made;
}

Task<Result<std::unique_ptr<PostgresConnection>>> PostgresConnection::connect_to_server(
    Runtime& runtime, PostgresLogin login, Deadline deadline, std::stop_token stop) {
  const Result<const LibPq*> library = LibPq::load();
  if (!library) co_return library.failure();
  const bool local = !login.endpoint.unix_path.empty();
  std::vector<std::string> addresses(1);
  if (!local) {
    // libpq would look the name up itself, and block.
    Result<std::vector<std::string>> found =
        co_await resolve(runtime, login.endpoint.host, deadline);
    if (!found) co_return found.failure();
    found = co_await answering_first(static_cast<RealRuntime&>(runtime), std::move(found).value(),
                                     login.endpoint.port, deadline);
    if (!found) co_return found.failure();
    addresses = std::move(found).value();
  }
  Result<void> tried = Failure(Code::unreachable, "it has no address");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    PGconn* const session = start_session(**library, login, addresses[i]);
    if (!session) co_return Failure(Code::unreachable, "libpq is out of memory");
    std::unique_ptr<PostgresConnection> connection(
        new PostgresConnection(runtime, **library, session));
    const Deadline limit = share_of(deadline, runtime.now(), addresses.size() - i);
    tried = co_await contained(connection->establish(limit, stop));
    if (tried && login.on_connected) tried = co_await login.on_connected(*connection, limit);
    if (tried) co_return connection;
    if (tried.code() != Code::unreachable) break;
  }
  co_return tried.failure();
}

Task<Result<void>> PostgresConnection::establish(Deadline deadline, std::stop_token stop) {
  const auto failed = [&] {
    const std::string why = one_line(library_.PQerrorMessage(session_));
    const bool mend = for_people_to_mend(why);
    close();
    return Failure(mend ? Code::misconfigured : Code::unreachable, why);
  };
  // Warnings would go to the program's own stderr.
  library_.PQsetNoticeReceiver(session_, &PostgresConnection::on_notice, this);
  if (library_.PQstatus(session_) == CONNECTION_BAD) co_return failed();
  Event moved(runtime_);
  PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;
  while (wanted != PGRES_POLLING_OK) {
    if (wanted == PGRES_POLLING_FAILED) co_return failed();
    {
      // The socket can be another one after each step.
      moved.reset();
      close_in_children();
      const bool reading = wanted == PGRES_POLLING_READING;
      const std::function<void()> move = [&] { moved.set(); };
      SocketWatch step(runtime_, library_.PQsocket(session_), reading ? move : nullptr, move);
      if (!reading) step.await_writable();
      const Woken woken = co_await moved.wait(deadline, stop);
      if (woken == Woken::cancelled) {
        co_return cancelled_by_caller();
      }
      if (woken == Woken::timed_out) co_return Failure(Code::unreachable, "no answer in time");
    }
    wanted = library_.PQconnectPoll(session_);
  }
  backend_pid_ = library_.PQbackendPID(session_);
  if (library_.PQsetnonblocking(session_, 1) != 0 || library_.PQenterPipelineMode(session_) != 1) {
    co_return failed();
  }
  close_in_children();
  watch_ = std::make_unique<SocketWatch>(
      runtime_, library_.PQsocket(session_), [this] { on_readable(); }, [this] { flush(); });
  co_return Result<void>();
}

void PostgresConnection::close_in_children() {
  in_child_.reset();
  const int socket = library_.PQsocket(session_);
  if (socket >= 0) in_child_.emplace(socket);
}

void PostgresConnection::close() { end("it was closed"); }

void PostgresConnection::give_up(const std::string& why) {
  if (!session_) return;
  const std::string& cause = last_words_.empty() ? why : last_words_;
  if (!server_.empty()) {
    report_lost(runtime_, server_,
                Failure(Code::unreachable, "PostgreSQL at " + server_ + ": " + cause));
  }
  end(why);
}

void PostgresConnection::end(std::string why) {
  if (!session_) return;
  why_lost_ = last_words_.empty() ? std::move(why) : last_words_;
  PGconn* session = std::exchange(session_, nullptr);
  if (fork_.forked()) {
    // The socket was closed when we were forked. PQfinish would close whatever has its number now, and
    // the watch would end the parent's.
    static_cast<void>(watch_.release());
    in_child_.reset();
  } else {
    watch_.reset();
    in_child_.reset();
    library_.PQfinish(session);
  }
  lost_.set();
  if (exchange_) {
    SqlOutcome& outcome = exchange_->outcome;
    if (!outcome.error) outcome.error = SqlError{.message = why_lost_};
    outcome.error->lost = true;
    outcome.error->may_have_run = true;
    exchange_->done.set();
  }
}

// ---- Sending -----------------------------------------------------------------------------------

Task<SqlOutcome> PostgresConnection::exchange(const std::vector<SqlStatement>& statements,
                                              Deadline deadline, std::stop_token stop) {
  HOLDFAST_REQUIRE(exchange_ == nullptr);
  Exchange exchange(runtime_);
  exchange.outcome.sent_at = runtime_.now();
  exchange.answer_is_due = !take_long_wait();
  if (!session_) {
    exchange.outcome.error =
        SqlError{.message = "the connection is gone: " + why_lost_, .lost = true};
    co_return std::move(exchange.outcome);
  }
  // Also when this coroutine is destroyed half-way: its answer must reach nobody else.
  struct Attached {
    Attached(PostgresConnection& the_connection, Exchange& the_exchange)
        : connection(the_connection) {
      connection.exchange_ = &the_exchange;
    }
    ~Attached() {
      const bool over = connection.exchange_ == nullptr;
      connection.exchange_ = nullptr;
      if (!over) connection.end("a call on it was given up");
    }
    PostgresConnection& connection;
  };
  const Attached attached(*this, exchange);
  if (!send(statements, exchange)) {
    // Nothing of it has left that the server would execute: the end of the pipeline is missing.
    give_up(one_line(library_.PQerrorMessage(session_)));
    exchange.outcome.error->may_have_run = false;
    co_return std::move(exchange.outcome);
  }
  const Woken woken = co_await exchange.done.wait(deadline, stop);
  if (woken == Woken::timed_out && exchange.answer_is_due) {
    give_up("no answer in time");
  } else if (woken != Woken::signalled) {
    end(woken == Woken::cancelled ? "cancelled by the caller" : "no answer in time");
  }
  if (woken != Woken::signalled) {
    exchange.outcome.error->cancelled = woken == Woken::cancelled;
  }
  exchange_ = nullptr;
  co_return std::move(exchange.outcome);
}

bool PostgresConnection::send(const std::vector<SqlStatement>& statements, Exchange& exchange) {
  for (const SqlStatement& statement : statements) {
    if (!send_one(statement, exchange)) return false;
  }
  if (library_.PQpipelineSync(session_) != 1) return false;
  flush();
  return true;
}

bool PostgresConnection::send_one(const SqlStatement& statement, Exchange& exchange) {
  auto known = statement.once ? prepared_.end() : prepared_.find(statement.text);
  if (known == prepared_.end() && !statement.once) {
    std::string name = "hf" + std::to_string(prepared_.size());
    if (library_.PQsendPrepare(session_, name.c_str(), statement.text.c_str(), 0, nullptr) != 1) {
      return false;
    }
    exchange.sent.push_back(statement.text);
    known = prepared_.emplace(statement.text, std::move(name)).first;
  }
  const std::size_t count = statement.values.size();
  std::vector<std::string> numbers;
  numbers.reserve(count);
  std::vector<const char*> values(count);
  std::vector<int> lengths(count);
  std::vector<int> formats(count);
  for (std::size_t i = 0; i < count; ++i) {
    const SqlValue& value = statement.values[i];
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      numbers.push_back(std::to_string(*number));
      values[i] = numbers.back().c_str();
    } else if (const auto* bytes = std::get_if<std::string>(&value)) {
      // In the binary format, which takes every byte and needs no escapes.
      values[i] = bytes->data();
      lengths[i] = static_cast<int>(bytes->size());
      formats[i] = 1;
    }
  }
  exchange.sent.emplace_back();
  if (statement.once) {
    return library_.PQsendQueryParams(session_, statement.text.c_str(), static_cast<int>(count),
                                      nullptr, values.data(), lengths.data(), formats.data(),
                                      0) == 1;
  }
  return library_.PQsendQueryPrepared(session_, known->second.c_str(), static_cast<int>(count),
                                      values.data(), lengths.data(), formats.data(), 0) == 1;
}

void PostgresConnection::flush() {
  // An error of writing shows in reading as well, with more to say.
  if (session_ && library_.PQflush(session_) == 1) watch_->await_writable();
}

// ---- Receiving ---------------------------------------------------------------------------------

void PostgresConnection::on_readable() {
  const bool sound = library_.PQconsumeInput(session_) == 1;
  if (exchange_ && take_results()) {
    finish_exchange();
  } else if (!exchange_ && !sound) {
    // The server's last words before it closed come as a result.
    if (PGresult* last = library_.PQgetResult(session_)) library_.PQclear(last);
  }
  if (!session_) return;
  take_notifications();
  if (!sound) {
    const std::string why = one_line(library_.PQerrorMessage(session_));
    give_up(why.empty() ? "the server closed the connection" : why);
    return;
  }
  flush();
}

void PostgresConnection::finish_exchange() {
  Exchange* done = std::exchange(exchange_, nullptr);
  done->done.set();
  std::optional<SqlError>& error = done->outcome.error;
  if (!in_group() || !error || !error->read_only) return;
  error->lost = true;
  report_read_only();
}

bool PostgresConnection::look() {
  on_readable();
  return exchange_ == nullptr;
}

bool PostgresConnection::take_results() {
  bool between = false;
  while (!library_.PQisBusy(session_)) {
    PGresult* result = library_.PQgetResult(session_);
    if (!result) {
      // The end of a statement; twice in a row: of all that has come.
      if (std::exchange(between, true)) return false;
      continue;
    }
    between = false;
    const ExecStatusType status = library_.PQresultStatus(result);
    if (status != PGRES_PIPELINE_SYNC) take_result(result);
    library_.PQclear(result);
    if (status == PGRES_PIPELINE_SYNC) return true;
  }
  return false;
}

void PostgresConnection::take_result(PGresult* result) {
  Exchange& exchange = *exchange_;
  const ExecStatusType status = library_.PQresultStatus(result);
  const bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  if (exchange.next >= exchange.sent.size()) {
    // Behind the last statement the server commits what was not committed before; that can fail,
    // too, and then nothing was done.
    if (!good && !exchange.outcome.error) {
      exchange.outcome.error = error_of(result);
      exchange.outcome.results.clear();
    }
    return;
  }
  const std::string& preparing = exchange.sent[exchange.next++];
  if (!good) {
    if (!preparing.empty()) prepared_.erase(preparing);
    if (!exchange.outcome.error && status != PGRES_PIPELINE_ABORTED) {
      exchange.outcome.error = error_of(result);
    }
  } else if (preparing.empty()) {
    exchange.outcome.results.push_back(rows_of(result));
  }
}

void PostgresConnection::on_notice(void* self, const PGresult* notice) {
  auto& connection = *static_cast<PostgresConnection*>(self);
  const LibPq& library = connection.library_;
  // Why a server ends an idle connection comes as one of these.
  const char* severity = library.PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (!severity || std::string_view(severity) != "FATAL") return;
  connection.last_words_ = connection.error_of(notice).message;
}

void PostgresConnection::take_notifications() {
  while (PGnotify* news = library_.PQnotifies(session_)) {
    if (on_notification_) on_notification_(news->relname, news->extra);
    library_.PQfreemem(news);
  }
}

SqlRows PostgresConnection::rows_of(const PGresult* result) const {
  SqlRows rows;
  const int columns = library_.PQnfields(result);
  const int count = library_.PQntuples(result);
  rows.rows.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    auto& row = rows.rows.emplace_back(static_cast<std::size_t>(columns));
    for (int j = 0; j < columns; ++j) {
      if (library_.PQgetisnull(result, i, j)) continue;
      const std::string_view cell(library_.PQgetvalue(result, i, j),
                                  static_cast<std::size_t>(library_.PQgetlength(result, i, j)));
      const bool bytes = library_.PQftype(result, j) == kByteaType;
      row[static_cast<std::size_t>(j)] = bytes ? from_hex(cell) : std::string(cell);
    }
  }
  const std::string_view affected = library_.PQcmdTuples(const_cast<PGresult*>(result));
  std::from_chars(affected.data(), affected.data() + affected.size(), rows.affected);
  return rows;
}

SqlError PostgresConnection::error_of(const PGresult* result) const {
  const char* state = library_.PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* primary = library_.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  SqlError error{.state = state ? state : "",
                 .message = one_line(primary ? primary : library_.PQresultErrorMessage(result))};
  error.read_only = error.state == "25006";
  return error;
}

}  // namespace holdfast::internal
