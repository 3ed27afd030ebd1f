#include "wire/sqlite.h"

#include <sqlite3.h>

#include <algorithm>

#include "base/exhausted.h"
#include "base/pause.h"

namespace holdfast::internal::sqlite {

namespace {

// Another process's write takes some 20 us, so waiting on the spot beats going to sleep. After
// about 2 ms the caller gets SQLITE_BUSY and waits without blocking the loop.
int on_busy(void* /*context*/, int attempt) {
  constexpr int kYields = 20;
  constexpr int kAttempts = 40;
  if (attempt >= kAttempts) return 0;
  if (attempt < kYields) {
    yield_thread();
  } else {
    pause_thread(std::chrono::microseconds(50));
  }
  return 1;
}

// SQLite itself waits for up to ten seconds, by ever longer sleeps, for locks that others hold for
// moments only. A process that was stopped in such a moment, or locks them on purpose, would stop
// our loop. So the sleeps are cut short; SQLITE_PROTOCOL comes after some 20 ms then.
int short_sleep(sqlite3_vfs* /*vfs*/, int span_us) {
  constexpr int kLongest = 100;
  const int slept_us = std::min(span_us, kLongest);
  pause_thread(std::chrono::microseconds(slept_us));
  return slept_us;
}

// The name of SQLite's own file system layer with these sleeps; null (SQLite's default) if it has
// none that we know.
const char* brief_vfs() {
  static const char* const name = []() -> const char* {
    const sqlite3_vfs* standard = sqlite3_vfs_find("unix");
    if (!standard) return nullptr;
    static sqlite3_vfs brief = *standard;
    brief.pNext = nullptr;
    brief.zName = "holdfast-brief";
    brief.xSleep = &short_sleep;
    return sqlite3_vfs_register(&brief, 0) == SQLITE_OK ? brief.zName : nullptr;
  }();
  return name;
}

// The error that a call has left in `raw`. A limit of this process that is behind it is what the
// user must know: SQLite says no more than "unable to open" and "disk I/O error".
Error error_of(sqlite3* raw, int code) {
  const int primary = code & 0xFF;
  if (raw != nullptr && (primary == SQLITE_CANTOPEN || primary == SQLITE_IOERR)) {
    const auto limit = exceeded_limit(sqlite3_system_errno(raw));
    if (limit) return Error(Error::kExhausted, *limit);
  }
  return Error(code, raw != nullptr ? sqlite3_errmsg(raw) : sqlite3_errstr(code));
}

}  // namespace

void throw_at_limit(int error) {
  if (const auto limit = exceeded_limit(error)) throw Error(Error::kExhausted, *limit);
}

const char* library_version() { return sqlite3_libversion(); }

bool Error::busy() const {
  const int primary = code_ & 0xFF;
  return primary == SQLITE_BUSY || primary == SQLITE_LOCKED || primary == SQLITE_PROTOCOL ||
         primary == kInUse;
}

Failure Error::failure(const std::filesystem::path& path) const {
  const std::string where = "the lock database " + path.string() + ": ";
  switch (code_ & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Failure(Code::unreachable, where + "another process keeps it locked (" + what() +
                                            "); look for one that is stopped");
    case SQLITE_FULL: return Failure(Code::unreachable, where + "the disk is full; make room");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Failure(Code::misconfigured,
                     where + "it is damaged or not a SQLite database (" + what() +
                         "); move it away when no process uses it, and a new one is made");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return Failure(Code::misconfigured,
                     where + "cannot be opened for writing (" + what() +
                         "); check the permissions of the file and of its directory");
    case kInUse: return Failure(Code::unreachable, where + what());
    case kExhausted: return Failure(Code::exhausted, where + what());
    case kRefused: return Failure(Code::misconfigured, where + what());
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
      return Failure(Code::misconfigured,
                     where + "it is not a Holdfast database of this version (" + what() + ")");
    default: return Failure(Code::unreachable, where + what());
  }
}

Database::Database(const std::filesystem::path& path, Waits waits) {
  // NOMUTEX: the client's loop is our mutex.
  const int code = sqlite3_open_v2(path.c_str(), &raw_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                                   waits == Waits::brief ? brief_vfs() : nullptr);
  if (code != SQLITE_OK) {
    const Error error = error_of(raw_, code);
    sqlite3_close(raw_);
    throw error;
  }
  sqlite3_extended_result_codes(raw_, 1);
  sqlite3_busy_handler(raw_, &on_busy, nullptr);
  // Closing must not cost an fsync: a command that takes a lock for a moment opens and closes.
  sqlite3_db_config(raw_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_wal_hook(raw_, &on_commit, this);
}

Database::~Database() {
  // But whoever opens it next, with nobody else there, must read the whole log. It has to be emptied
  // for that: how much of it was copied already is forgotten when the last one leaves. If others are
  // in the way, the log stays as it is: it is not read again while they are there.
  constexpr int kPagesToLeave = 200;
  if (log_pages_ > kPagesToLeave) {
    sqlite3_busy_handler(raw_, nullptr, nullptr);
    sqlite3_wal_checkpoint_v2(raw_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  }
  sqlite3_finalize(begin_);
  sqlite3_finalize(commit_);
  sqlite3_close_v2(raw_);
}

void Database::checkpoint() {
  sqlite3_wal_checkpoint_v2(raw_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

bool Database::moved() const {
  int moved = 0;
  return sqlite3_file_control(raw_, nullptr, SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
         moved != 0;
}

int Database::on_commit(void* self, sqlite3* /*raw*/, const char* /*name*/, int log_pages) {
  constexpr int kCheckpointPages = 1000;  // SQLite's own default
  auto* database = static_cast<Database*>(self);
  database->log_pages_ = log_pages;
  if (log_pages >= kCheckpointPages) database->checkpoint();
  return SQLITE_OK;
}

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(raw_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void Database::step(sqlite3_stmt*& statement, const char* sql) {
  if (!statement) {
    const int code =
        sqlite3_prepare_v3(raw_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) fail(code);
  }
  const int code = sqlite3_step(statement);
  if (code != SQLITE_DONE) {
    const Error error = error_of(raw_, sqlite3_extended_errcode(raw_));
    sqlite3_reset(statement);
    throw error;
  }
  sqlite3_reset(statement);
}

void Database::begin() { step(begin_, "BEGIN IMMEDIATE"); }
void Database::commit() { step(commit_, "COMMIT"); }

int Database::changes() const { return sqlite3_changes(raw_); }

void Database::fail(int code) const {
  throw error_of(raw_, sqlite3_extended_errcode(raw_) ? sqlite3_extended_errcode(raw_) : code);
}

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  check(sqlite3_prepare_v3(database.raw(), sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &raw_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(raw_); }

void Statement::check(int code) const {
  if (code != SQLITE_OK) database_.fail(code);
}

void Statement::bind(int index, std::nullptr_t) { check(sqlite3_bind_null(raw_, index)); }
void Statement::bind(int index, std::int64_t number) {
  check(sqlite3_bind_int64(raw_, index, number));
}
void Statement::bind(int index, std::string_view bytes) {
  check(
      sqlite3_bind_blob(raw_, index, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC));
}

Statement::Cursor::~Cursor() { sqlite3_reset(statement_.raw_); }

bool Statement::Cursor::next() {
  const int code = sqlite3_step(statement_.raw_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) statement_.database_.fail(code);
  return false;
}

int Statement::Cursor::finish() {
  while (next()) {
  }
  return statement_.database_.changes();
}

int Statement::Cursor::columns() const { return sqlite3_column_count(statement_.raw_); }

bool Statement::Cursor::null(int column) const {
  return sqlite3_column_type(statement_.raw_, column) == SQLITE_NULL;
}
std::int64_t Statement::Cursor::number(int column) const {
  return sqlite3_column_int64(statement_.raw_, column);
}
std::string_view Statement::Cursor::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.raw_, column);
  const int size = sqlite3_column_bytes(statement_.raw_, column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

Transaction::Transaction(Database& database) : database_(database) { database_.begin(); }

namespace {
// The failure to report is on its way already; a failed rollback adds nothing to it.
void roll_back(Database& database) {
  sqlite3_exec(database.raw(), "ROLLBACK", nullptr, nullptr, nullptr);
}
}  // namespace

Transaction::~Transaction() {
  if (open_) roll_back(database_);
}

Snapshot::Snapshot(Database& database) : database_(database) { database_.execute("BEGIN"); }
Snapshot::~Snapshot() { roll_back(database_); }

void Transaction::commit() {
  database_.commit();
  open_ = false;
}

}  // namespace holdfast::internal::sqlite
