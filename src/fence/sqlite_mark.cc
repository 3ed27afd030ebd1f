#include "fence/sqlite_mark.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "fence/files.h"
#include "fence/fnv1a.h"
#include "fence/lock_file.h"
#include "wire/sqlite.h"

namespace holdfast::internal::fence {

namespace {

constexpr int kBusyTimeoutMs = 10'000;
constexpr std::size_t kDisplayBytes = 60;

constexpr const char* kCreateTable =
    "CREATE TABLE IF NOT EXISTS holdfast_fence("  // layers: allow(table) SQLite's own
    "resource BLOB NOT NULL PRIMARY KEY, mark INTEGER NOT NULL, writes INTEGER NOT NULL) "
    "WITHOUT ROWID";
constexpr const char* kCreateWriterTable =
    "CREATE TABLE IF NOT EXISTS holdfast_fence_writer("  // layers: allow(table) SQLite's own
    "resource BLOB NOT NULL PRIMARY KEY, writer INTEGER NOT NULL, newest INTEGER NOT NULL) "
    "WITHOUT ROWID";
constexpr const char* kCreateRow =
    "INSERT OR IGNORE INTO holdfast_fence(resource, mark, writes) VALUES(?1, 0, 0)";
// NULL if it is not an integer: SQLite would read any text as 0.
constexpr const char* kReadMark =
    "SELECT CASE typeof(m.mark) WHEN 'integer' THEN m.mark END, "
    "CASE typeof(w.writer) WHEN 'integer' THEN w.writer END "
    "FROM holdfast_fence m LEFT JOIN holdfast_fence_writer w "
    "ON w.resource = m.resource AND w.newest = m.mark WHERE m.resource = ?1";
// The gate's lock keeps other gates out; the condition keeps the mark from falling even if
// somebody writes to the table without a gate. (x < 0, x) orders signed numbers as unsigned ones.
// The count makes each write a change: SQLite flushes nothing for a row that stays the same.
constexpr const char* kRaiseMark =
    "UPDATE holdfast_fence SET mark = ?2, writes = writes + 1 "
    "WHERE resource = ?1 AND (mark < 0, mark) <= (?2 < 0, ?2)";

constexpr const char* kKeepWriter =
    "INSERT OR REPLACE INTO holdfast_fence_writer(resource, writer, newest) VALUES(?1, ?2, ?3)";
constexpr const char* kForgetWriter =
    "DELETE FROM holdfast_fence_writer WHERE resource = ?1 AND newest = ?2";

const char* advice_for(const sqlite::Error& error, Code code) {
  if (error.busy()) {
    return "somebody keeps the database locked: enter the gate before your own transaction begins, "
           "and keep transactions short";
  }
  if (code == Code::misconfigured) {
    return "check that it is a sound SQLite database whose table holdfast_fence was made by "
           "Holdfast, and that this user may write it and its directory. A new or restored one has "
           "forgotten marks: use it only when nobody is left who has an old token";
  }
  return "make room if the disk is full, otherwise try again once the cause is gone";
}

// Runs `body`, whose result is a Result, and turns the wrapper's exceptions into failures.
template <class Body>
std::invoke_result_t<Body> attempt(const std::filesystem::path& path, Body body) {
  try {
    return body();
  } catch (const sqlite::Error& error) {
    const Code code = error.failure(path).code();
    return Failure(code, "cannot use the fence in " + path.string() + ": " + error.what() + "; " +
                             advice_for(error, code));
  }
}

// One connection and the row of one resource. Its functions throw sqlite::Error.
class Row {
 public:
  Row(const std::filesystem::path& path, std::string resource)
      : database_(path), resource_(std::move(resource)) {
    sqlite3_busy_timeout(database_.raw(), kBusyTimeoutMs);
    // EXTRA also flushes the directory once the rollback journal is gone; in WAL mode it is FULL.
    database_.execute("PRAGMA synchronous = EXTRA");
  }

  void create_if_absent() {
    create_table(kCreateTable);
    create_table(kCreateWriterTable);
    if (find()) return;  // the usual case: nothing to write
    sqlite::Statement insert(database_, kCreateRow);
    insert.run(std::string_view(resource_)).finish();
  }

  // Nothing if there is no such row, or no number in it.
  std::optional<Mark> find() {
    sqlite::Statement select(database_, kReadMark);
    auto row = select.run(std::string_view(resource_));
    if (!row.next() || row.null(0)) return std::nullopt;
    const Token newest(static_cast<std::uint64_t>(row.number(0)));
    if (row.null(1)) return Mark::of_one_number(newest);
    const Token writer(static_cast<std::uint64_t>(row.number(1)));
    return Mark{std::min(writer, newest), newest};
  }

  // False if the mark is higher already, or gone.
  bool raise(const Mark& mark) {
    const std::string_view resource(resource_);
    const auto newest = static_cast<std::int64_t>(mark.newest.value());
    const auto writer = static_cast<std::int64_t>(mark.writer.value());
    sqlite::Transaction transaction(database_);
    sqlite::Statement update(database_, kRaiseMark);
    if (update.run(resource, newest).finish() != 1) return false;
    if (mark.writer == mark.newest) {
      sqlite::Statement(database_, kForgetWriter).run(resource, newest).finish();
    } else {
      sqlite::Statement(database_, kKeepWriter).run(resource, writer, newest).finish();
    }
    transaction.commit();
    return true;
  }

 private:
  void create_table(const char* statement) {
    try {
      database_.execute(statement);
    } catch (const sqlite::Error& error) {
      throw sqlite::Error(error.code(), std::string(error.what()) + " (in: " + statement + ")");
    }
  }

  sqlite::Database database_;
  std::string resource_;
};

struct Place {
  std::filesystem::path database;
  std::string resource;
};

Failure tampered(const Place& place) {
  return {Code::misconfigured,
          "table holdfast_fence of " + place.database.string() + " has no sound mark for " +
              printable(place.resource, kDisplayBytes) +
              ", or somebody changes it without the gate: stop that, and correct the row"};
}

Result<Mark> mark_in(Row& row, const Place& place) {
  return attempt(place.database, [&]() -> Result<Mark> {
    const auto mark = row.find();
    // The row was there when the gate was opened: its absence does not mean 0.
    if (!mark) return tampered(place);
    return *mark;
  });
}

class SqliteSession final : public MarkSession {
 public:
  SqliteSession(LockFile lock, std::unique_ptr<Row> row, const Place& place, DurableMark& committed)
      : lock_(std::move(lock)), row_(std::move(row)), place_(place), committed_(committed) {}

  Result<Mark> load() override {
    auto mark = mark_in(*row_, place_);
    if (mark) loaded_ = *mark;
    return mark;
  }

  Result<void> store(const Mark& mark) override {
    // A mark that somebody else wrote is written once more: its writer may have been killed
    // before it was flushed.
    if (loaded_ != mark || !committed_.is(mark)) {
      auto raised = attempt(place_.database, [&]() -> Result<void> {
        if (!row_->raise(mark)) return tampered(place_);
        return {};
      });
      if (!raised) return raised;
      committed_.set(mark);
    }
    row_.reset();  // the caller's own connections have the database for themselves
    return {};
  }

 private:
  LockFile lock_;
  std::unique_ptr<Row> row_;
  const Place& place_;
  DurableMark& committed_;
  Mark loaded_;
};

class SqliteMark final : public MarkStore {
 public:
  explicit SqliteMark(Place place) : place_(std::move(place)) {}

  Result<void> create_if_absent() const {
    const std::filesystem::path& path = place_.database;
    // SQLite would make it readable for everybody. mknod rather than open: closing a descriptor of
    // the file would drop the locks of any connection that this process has to it.
    if (::mknod(path.c_str(), S_IFREG | 0600, 0) != 0 && errno != EEXIST) {
      return file_failure("create", path, errno);
    }
    // SQLite's own messages for these are too short.
    if (::access(path.c_str(), R_OK | W_OK) != 0) return file_failure("open", path, errno);
    if (auto lock = LockFile::open(lock_path(), O_RDWR | O_CREAT); !lock) return lock.failure();
    auto made = attempt(path, [&]() -> Result<void> {
      Row(path, place_.resource).create_if_absent();
      return {};
    });
    if (!made) return made;
    return sync_directory_of(path);
  }

  Result<std::unique_ptr<MarkSession>> enter() override {
    auto lock = LockFile::open_locked(lock_path(), lock_byte());
    if (!lock) return lock.failure();
    return attempt(place_.database, [&]() -> Result<std::unique_ptr<MarkSession>> {
      auto row = std::make_unique<Row>(place_.database, place_.resource);
      return std::unique_ptr<MarkSession>(
          std::make_unique<SqliteSession>(std::move(*lock), std::move(row), place_, committed_));
    });
  }

  Result<Mark> peek() const override {
    return attempt(place_.database, [&]() -> Result<Mark> {
      Row row(place_.database, place_.resource);
      return mark_in(row, place_);
    });
  }

  std::string display() const override {
    return place_.database.string() + " resource " + printable(place_.resource, kDisplayBytes);
  }

 private:
  std::filesystem::path lock_path() const { return with_suffix(place_.database, "-fence"); }
  // Two resources that share a byte wait for each other, no worse. Two bits less than a word, so
  // that byte and length stay within off_t.
  off_t lock_byte() const { return static_cast<off_t>(fnv1a(place_.resource) >> 2); }

  Place place_;
  DurableMark committed_;
};

std::optional<Failure> problem_with(const std::filesystem::path& database,
                                    std::string_view resource) {
  if (resource.empty() || resource.size() > Name::kMaxBytes) {
    return Failure(Code::invalid_argument,
                   "a fenced resource has a name of 1 to " + std::to_string(Name::kMaxBytes) +
                       " bytes; this one has " + std::to_string(resource.size()));
  }
  if (database == ":memory:") {
    return Failure(Code::invalid_argument,
                   "a fence must outlive the process: name a database file, not :memory:");
  }
  std::error_code error;
  if (std::filesystem::is_directory(database, error)) {
    return file_failure("open", database, EISDIR);
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<MarkStore>> open_sqlite_mark(const std::filesystem::path& database,
                                                    std::string_view resource) {
  if (auto problem = problem_with(database, resource)) return *problem;
  auto path = resolved(database);
  if (!path) return path.failure();
  auto store = std::make_unique<SqliteMark>(Place{std::move(*path), std::string(resource)});
  if (auto made = store->create_if_absent(); !made) return made.failure();
  return std::unique_ptr<MarkStore>(std::move(store));
}

}  // namespace holdfast::internal::fence
