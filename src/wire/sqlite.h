// A thin, owning C++ face of SQLite. Errors are exceptions here (sqlite::Error), because they are
// rare and cross many lines of transaction code; the engine turns them into failures.
//
// Thread safety: a Database and its Statements are used by one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "holdfast/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::internal::sqlite {

// "3.40.1": of the library that is loaded.
const char* library_version();

class Error : public std::runtime_error {
 public:
  // A refusal of our own, not SQLite's.
  static constexpr int kRefused = 255;
  // The same, but it may work in a moment: busy() is true.
  static constexpr int kInUse = 254;
  // A limit of this process is reached.
  static constexpr int kExhausted = 253;

  Error(int code, const std::string& message) : std::runtime_error(message), code_(code) {}

  int code() const { return code_; }  // SQLite's extended result code
  // Somebody else is writing: try again in a moment.
  bool busy() const;
  // The error as a user of the lock sees it; `path` is named in the message.
  Failure failure(const std::filesystem::path& path) const;

 private:
  int code_;
};

// How long a statement may sleep inside SQLite while others are in the way.
enum class Waits {
  as_usual,  // as SQLite does: up to ten seconds
  brief,     // some milliseconds, inside a loop; then it is busy
};

// Throws an Error that names the limit, if `error` of the system is about one of this process.
void throw_at_limit(int error);

class Database {
 public:
  // Opens for reading and writing; the file must exist (an empty one will do).
  explicit Database(const std::filesystem::path& path, Waits waits = Waits::as_usual);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const char* sql);
  // BEGIN IMMEDIATE and COMMIT, prepared: they are on the way of every hand-off.
  void begin();
  void commit();
  int changes() const;
  // How many pages the write-ahead log had after our last commit.
  int log_pages() const { return log_pages_; }
  // Copies the log into the database as far as nobody is in the way.
  void checkpoint();
  // True if the file's name leads to another file by now, or to none.
  bool moved() const;
  // Its files are not the ones that others use any more: closing it must write nothing.
  void abandon() { log_pages_ = 0; }
  sqlite3* raw() const { return raw_; }
  [[noreturn]] void fail(int code) const;

 private:
  static int on_commit(void* self, sqlite3* raw, const char* name, int log_pages);

  void step(sqlite3_stmt*& statement, const char* sql);

  sqlite3* raw_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
  int log_pages_ = 0;
};

// A prepared statement. run() binds the arguments and returns a cursor, which resets the
// statement when it goes out of scope.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  class Cursor {
   public:
    explicit Cursor(Statement& statement) : statement_(statement) {}
    ~Cursor();
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    // True: a row. False: done.
    bool next();
    // Steps to the end. How many rows the statement changed.
    int finish();

    int columns() const;
    bool null(int column) const;
    std::int64_t number(int column) const;
    // Valid until the next call of next() or the end of the cursor.
    std::string_view bytes(int column) const;

   private:
    Statement& statement_;
  };

  template <class... Arguments>
  Cursor run(const Arguments&... arguments) {
    int index = 0;
    (bind(++index, arguments), ...);
    return Cursor(*this);
  }

  // The same with a vector of variants of what can be bound.
  template <class Values>
  Cursor run_values(const Values& values) {
    int index = 0;
    for (const auto& value : values) {
      std::visit([&](const auto& bound) { bind(++index, bound); }, value);
    }
    return Cursor(*this);
  }

 private:
  void bind(int index, std::nullptr_t);
  void bind(int index, std::int64_t number);
  void bind(int index, std::string_view bytes);  // as a blob, not copied
  void bind(int index, std::span<const std::uint8_t> bytes) {
    bind(index, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  void check(int code) const;

  Database& database_;
  sqlite3_stmt* raw_ = nullptr;
};

// BEGIN IMMEDIATE … COMMIT; rolls back unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

// Several reads of one moment.
class Snapshot {
 public:
  explicit Snapshot(Database& database);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Database& database_;
};

}  // namespace holdfast::internal::sqlite
