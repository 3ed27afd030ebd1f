#include "wire/mariadb_connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <csignal>
#include <system_error>

#include "base/require.h"
#include "base/server_reporter.h"
#include "wire/connect.h"
#include "wire/libmariadb.h"
#include "wire/resolve.h"

namespace holdfast::internal {

namespace {

// Under TLS the library writes in a way that raises SIGPIPE when the server has gone.
class NoBrokenPipe {
 public:
  explicit NoBrokenPipe(bool needed) : needed_(needed) {
    if (!needed_) return;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    if (!needed_) return;
    constexpr timespec kAtOnce{};
    if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&pipe_, nullptr, &kAtOnce);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  bool needed_;
  sigset_t pipe_{};
  sigset_t before_{};
};

// A connection whose statement waits in the server hears nothing for a long time. The kernel alone would take hours to
// notice that the server, or the way to it, is gone.
void keep_alive(int socket) {
  const auto set = [socket](int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

// Behind each request to a server in a group: made read-only, MySQL keeps its sessions, and their reads go on.
constexpr const char* kAskWritable = ";SELECT @@global.read_only";

void append_hex(std::string& text, const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  text += "X'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  text += '\'';
}

void append_value(std::string& text, const SqlValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    text += std::to_string(*number);
  } else if (const auto* bytes = std::get_if<std::string>(&value)) {
    append_hex(text, *bytes);  // Nothing to escape, and it means the same in every character set.
  } else {
    text += "NULL";
  }
}

}  // namespace

std::string mariadb_text(const std::vector<SqlStatement>& statements) {
  std::string text;
  for (const SqlStatement& statement : statements) {
    if (!text.empty()) text += ';';
    std::size_t from = 0;
    for (const SqlValue& value : statement.values) {
      const std::size_t at = statement.text.find('?', from);
      if (at == std::string::npos) break;
      text.append(statement.text, from, at - from);
      append_value(text, value);
      from = at + 1;
    }
    text.append(statement.text, from);
  }
  return text;
}

// ---- Opening and closing -----------------------------------------------------------------------

MariadbConnection::MariadbConnection(Runtime& runtime, const LibMariadb& library)
    : runtime_(static_cast<RealRuntime&>(runtime)),
      library_(library),
      lost_(runtime),
      done_(runtime) {
  runtime_.add_lookout(*this);
}

MariadbConnection::~MariadbConnection() {
  end("closed");
  runtime_.remove_lookout(*this);
}

Task<Result<std::unique_ptr<MariadbConnection>>> MariadbConnection::connect(
    Runtime& runtime, const MariadbSettings& settings, Deadline deadline) {
  if (settings.group) co_return co_await connect_to_primary(runtime, settings, deadline);
  const std::string server = settings.endpoint.display();
  Result<std::unique_ptr<MariadbConnection>> made =
      co_await contained(connect_to_server(runtime, settings, deadline));
  report_opening(runtime, server, made);
  if (made) (*made)->server_ = server;
  co_return made;
}

Task<Result<std::unique_ptr<MariadbConnection>>> MariadbConnection::connect_to_server(
    Runtime& runtime, const MariadbSettings& settings, Deadline deadline) {
  const Result<const LibMariadb*> library = LibMariadb::load();
  if (!library) co_return library.failure();
  const Endpoint& at = settings.endpoint;
  std::vector<std::string> hosts(1);
  if (at.unix_path.empty()) {
    // The library would look the name up itself, and block.
    Result<std::vector<std::string>> found = co_await resolve(runtime, at.host, deadline);
    if (found) {
      found = co_await answering_first(static_cast<RealRuntime&>(runtime), std::move(found).value(),
                                       at.port, deadline);
    }
    if (!found) {
      co_return Failure(found.code(), "MySQL at " + at.display() + ": " + found.message());
    }
    hosts = std::move(found).value();
    // But the server's certificate is compared with the name that the library was given. Then the library looks it up;
    // by now the resolver has the answer.
    if (settings.tls && settings.tls->verify) hosts.assign(1, at.host);
  }
  Result<void> tried = Failure(Code::unreachable, "it has no address");
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    std::unique_ptr<MariadbConnection> connection(new MariadbConnection(runtime, **library));
    const Deadline limit = share_of(deadline, runtime.now(), hosts.size() - i);
    tried = co_await contained(connection->open(settings, hosts[i], limit));
    if (tried && settings.on_connected) tried = co_await settings.on_connected(*connection, limit);
    if (tried) co_return connection;
    if (tried.code() != Code::unreachable) break;
  }
  co_return tried.failure();
}

Result<void> MariadbConnection::prepare(const MariadbSettings& settings) {
  raw_ = library_.mysql_init(nullptr);
  if (!raw_) return Failure(Code::unreachable, "there is no memory for a connection");
  const auto set = [this](mysql_option option, const void* value) {
    library_.mysql_options(raw_, option, value);
  };
  // The library runs each call on a stack of its own, of 60 KB unless told otherwise: little for a
  // TLS handshake, or for a login plugin that it loads.
  constexpr std::size_t kStack = 256 << 10;
  set(MYSQL_OPT_NONBLOCK, &kStack);
  set(MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const unsigned int protocol =
      settings.endpoint.unix_path.empty() ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
  set(MYSQL_OPT_PROTOCOL, &protocol);
  // Otherwise the server could ask for any file of ours, as if we had said LOAD DATA LOCAL.
  const unsigned int no_files = 0;
  set(MYSQL_OPT_LOCAL_INFILE, &no_files);
  library_.mysql_optionsv(raw_, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "holdfast");
  if (!settings.tls) return {};
  tls_ = true;
  const TlsSettings& tls = *settings.tls;
  const my_bool yes = 1;
  const my_bool verify = tls.verify ? 1 : 0;
  set(MYSQL_OPT_SSL_ENFORCE, &yes);
  set(MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
  if (!tls.ca_file.empty()) set(MYSQL_OPT_SSL_CA, tls.ca_file.c_str());
  if (!tls.certificate_file.empty()) set(MYSQL_OPT_SSL_CERT, tls.certificate_file.c_str());
  if (!tls.key_file.empty()) set(MYSQL_OPT_SSL_KEY, tls.key_file.c_str());
  return {};
}

Task<Result<void>> MariadbConnection::open(const MariadbSettings& settings, const std::string& host,
                                           Deadline deadline) {
  const Result<void> prepared = prepare(settings);
  if (!prepared) co_return prepared.failure();
  const Endpoint& at = settings.endpoint;
  const bool local = !at.unix_path.empty();
  step_ = Step::connecting;
  int waiting = 0;
  {
    const NoBrokenPipe quiet(tls_);
    waiting = library_.mysql_real_connect_start(
        &connected_, raw_, local ? nullptr : host.c_str(), settings.user.c_str(),
        settings.password.c_str(), settings.database.empty() ? nullptr : settings.database.c_str(),
        at.port, local ? at.unix_path.c_str() : nullptr, CLIENT_MULTI_STATEMENTS);
  }
  advance(waiting);
  const Woken woken = co_await done_.wait(deadline);
  if (woken != Woken::signalled) {
    end("no connection in time");
    co_return Failure(Code::unreachable, "MySQL at " + at.display() + ": no connection in time");
  }
  if (outcome_.error) co_return mariadb_refusal(*outcome_.error, at.display());
  co_return Result<void>();
}

bool MariadbConnection::watch_socket() {
  const int socket = library_.mysql_get_socket(raw_);
  if (socket < 0) return true;
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  in_child_.reset();
  in_child_.emplace(socket);
  try {
    watch_ = std::make_unique<DuplicateWatch>(runtime_, socket, [this] { on_ready(); });
  } catch (const LockError& problem) {
    outcome_.error = SqlError{.message = problem.what(), .lost = true};
    end(problem.what());
    return false;
  }
  return true;
}

void MariadbConnection::give_up(const std::string& why) {
  if (raw_ && !server_.empty()) {
    report_lost(runtime_, server_, Failure(Code::unreachable, "MySQL at " + server_ + ": " + why));
  }
  end(why);
}

void MariadbConnection::end(const std::string& why) {
  if (!raw_) return;
  MYSQL* const raw = std::exchange(raw_, nullptr);
  const bool busy = step_ != Step::idle;
  step_ = Step::idle;
  answer_is_due_ = false;
  why_lost_ = why;
  watch_.reset();
  // The library's farewell would wait for a request that is under way.
  const int socket = library_.mysql_get_socket(raw);
  if (busy && socket >= 0) shutdown(socket, SHUT_RDWR);
  in_child_.reset();
  {
    const NoBrokenPipe quiet(tls_);
    library_.mysql_close(raw);
  }
  lost_.set();
  done_.set();
}

// ---- Calling -----------------------------------------------------------------------------------

Task<SqlOutcome> MariadbConnection::exchange(const std::vector<SqlStatement>& statements,
                                             Deadline deadline, std::stop_token stop) {
  // A call that is given up before its answer leaves a connection that nobody can use.
  struct Leaving {
    MariadbConnection& connection;
    ~Leaving() {
      if (connection.step_ != Step::idle) connection.end("given up");
    }
  };
  HOLDFAST_REQUIRE(step_ == Step::idle);
  outcome_ = SqlOutcome();
  outcome_.sent_at = runtime_.now();
  if (!raw_) {
    outcome_.error = SqlError{.message = why_lost_, .lost = true};
    co_return std::move(outcome_);
  }
  const Leaving leaving{*this};
  answer_is_due_ = !take_long_wait();
  done_.reset();
  begin(statements);
  const Woken woken = co_await done_.wait(deadline, std::move(stop));
  if (woken == Woken::signalled && raw_) {
    if (in_group()) check_writable();
    co_return std::move(outcome_);
  }
  if (!outcome_.error) {
    const bool ended = !raw_;
    outcome_.error = SqlError{.message = ended ? why_lost_ : "no answer in time",
                              .lost = true,
                              .may_have_run = true,
                              .cancelled = woken == Woken::cancelled};
  }
  if (woken == Woken::timed_out && answer_is_due_) {
    give_up("no answer in time");
  } else if (raw_) {
    end("no answer in time");
  }
  co_return std::move(outcome_);
}

void MariadbConnection::begin(const std::vector<SqlStatement>& statements) {
  text_ = mariadb_text(statements);
  if (in_group()) text_ += kAskWritable;
  step_ = Step::querying;
  int waiting = 0;
  {
    const NoBrokenPipe quiet(tls_);
    waiting = library_.mysql_real_query_start(&failed_, raw_, text_.data(), text_.size());
  }
  advance(waiting);
}

// ---- The library's steps -----------------------------------------------------------------------

void MariadbConnection::on_ready() {
  if (step_ == Step::idle) {
    look_if_lost();
    return;
  }
  if (step_ == Step::connecting && end_if_refused()) return;
  int waiting = 0;
  {
    const NoBrokenPipe quiet(tls_);
    waiting = resume();
  }
  advance(waiting);
}

// The library (seen with MariaDB 10.11) takes the address of errno before it waits for the connection, and stores the error
// there afterwards. By then another thread may drive the loop, and the first one have ended. So it does not get to
// see the error.
bool MariadbConnection::end_if_refused() {
  constexpr int kCannotConnect = 2003;
  int error = 0;
  socklen_t size = sizeof error;
  const int socket = library_.mysql_get_socket(raw_);
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error == 0) return false;
  const std::string why = "cannot connect: " + std::system_category().message(error);
  outcome_.error = SqlError{.number = kCannotConnect, .message = why, .lost = true};
  end(why);
  return true;
}

bool MariadbConnection::look() {
  if ((waiting_ & MYSQL_WAIT_WRITE) == 0) on_ready();
  return !answer_is_due_;
}

int MariadbConnection::resume() {
  switch (step_) {
    case Step::connecting: return library_.mysql_real_connect_cont(&connected_, raw_, waiting_);
    case Step::querying: return library_.mysql_real_query_cont(&failed_, raw_, waiting_);
    case Step::storing: return library_.mysql_store_result_cont(&rows_, raw_, waiting_);
    case Step::going_on: return library_.mysql_next_result_cont(&failed_, raw_, waiting_);
    case Step::idle: break;
  }
  return 0;
}

void MariadbConnection::advance(int waiting) {
  {
    const NoBrokenPipe quiet(tls_);
    while (waiting == 0 && step_ != Step::idle) waiting = next_step();
  }
  if (step_ == Step::idle) return;
  waiting_ = waiting;
  // While it is being opened, it may have gone on to another address, and so to another socket.
  if (step_ == Step::connecting && !watch_socket()) return;
  if (waiting & MYSQL_WAIT_WRITE) watch_->when_writable([this] { on_ready(); });
}

int MariadbConnection::next_step() {
  switch (step_) {
    case Step::connecting:
      if (!connected_) return fail();
      session_ = library_.mysql_thread_id(raw_);
      if (const char* version = library_.mysql_get_server_info(raw_)) version_ = version;
      if (!watch_socket()) return 0;
      keep_alive(library_.mysql_get_socket(raw_));
      return finish();
    case Step::querying: return failed_ != 0 ? fail() : ask_for_rows();
    case Step::storing:
      if (!rows_ && library_.mysql_field_count(raw_) != 0) return fail();
      take_rows();
      if (!library_.mysql_more_results(raw_)) return finish();
      step_ = Step::going_on;
      return library_.mysql_next_result_start(&failed_, raw_);
    case Step::going_on:
      if (failed_ > 0) return fail();
      return ask_for_rows();
    case Step::idle: break;
  }
  return 0;
}

int MariadbConnection::ask_for_rows() {
  rows_ = nullptr;
  step_ = Step::storing;
  if (library_.mysql_field_count(raw_) == 0) return 0;
  return library_.mysql_store_result_start(&rows_, raw_);
}

void MariadbConnection::take_rows() {
  SqlRows& result = outcome_.results.emplace_back();
  if (!rows_) {
    result.affected = library_.mysql_affected_rows(raw_);
    result.id = library_.mysql_insert_id(raw_);
    return;
  }
  const unsigned int columns = library_.mysql_num_fields(rows_);
  while (MYSQL_ROW row = library_.mysql_fetch_row(rows_)) {
    const unsigned long* lengths = library_.mysql_fetch_lengths(rows_);
    auto& cells = result.rows.emplace_back(columns);
    for (unsigned int i = 0; i < columns; ++i) {
      if (row[i]) cells[i].emplace(row[i], lengths[i]);
    }
  }
  library_.mysql_free_result(rows_);
  rows_ = nullptr;
}

int MariadbConnection::finish() {
  step_ = Step::idle;
  answer_is_due_ = false;
  done_.set();
  return 0;
}

int MariadbConnection::fail() {
  constexpr unsigned int kShutdown = 1053;
  constexpr unsigned int kKilled = 1927;
  constexpr unsigned int kIdleTooLong = 4031;
  constexpr unsigned int kLeastOfTheLibrary = 2000;
  constexpr unsigned int kMaxOfTheLibrary = 2999;
  const unsigned int number = library_.mysql_errno(raw_);
  const bool library_speaks = number >= kLeastOfTheLibrary && number <= kMaxOfTheLibrary;
  SqlError error{.state = library_speaks ? "" : library_.mysql_sqlstate(raw_),
                 .number = static_cast<int>(number),
                 .message = library_.mysql_error(raw_),
                 .read_only = number == 1290 || number == 1792 || number == 1836};
  // The library sometimes fails without a number: what it read made no sense to it.
  const bool senseless = number == 0;
  if (error.message.empty()) error.message = kNotUnderstood;
  const bool opening = step_ == Step::connecting;
  error.may_have_run = (library_speaks || senseless) && !opening;
  error.lost = opening || library_speaks || senseless || number == kShutdown || number == kKilled ||
               number == kIdleTooLong;
  const bool lost = error.lost;
  const std::string message = error.message;
  outcome_.error = std::move(error);
  step_ = Step::idle;
  answer_is_due_ = false;
  if (lost) {
    give_up(message);
  } else {
    done_.set();
  }
  return 0;
}

void MariadbConnection::look_if_lost() {
  // Nobody asked for anything: what comes now is a farewell, or the end of the connection.
  char byte = 0;
  const ssize_t size =
      recv(library_.mysql_get_socket(raw_), &byte, 1, MSG_PEEK | MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  give_up("the server closed the connection");
}

}  // namespace holdfast::internal
