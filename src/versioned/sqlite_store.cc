// Versioned rows in SQLite.
#include <filesystem>

#include "versioned/plain_store.h"
#include "wire/sqlite.h"

namespace holdfast::internal {

namespace {

class SqliteStore final : public PlainStore {
 public:
  SqliteStore(Runtime& runtime, const VersionedTable& table, std::filesystem::path path)
      : PlainStore(table, '"'), runtime_(runtime), path_(std::move(path)) {}

  Task<Result<SqlRows>> run(SqlStatement statement, Deadline deadline) override {
    constexpr Duration kPause = std::chrono::milliseconds(2);
    for (;;) {
      bool busy = false;
      Result<SqlRows> rows = run_once(statement, busy);
      const BootTime again = runtime_.now() + runtime_.jitter(kPause);
      if (!busy || deadline.passed(again)) co_return rows;
      co_await sleep_until(runtime_, again);
    }
  }

 protected:
  std::string place(const Value&) const override { return "CAST(? AS TEXT)"; }

 private:
  Result<SqlRows> run_once(const SqlStatement& statement, bool& busy) {
    try {
      if (!database_) database_.emplace(path_);
      sqlite::Statement prepared(*database_, statement.text);
      sqlite::Statement::Cursor cursor = prepared.run_values(statement.values);
      SqlRows result;
      while (cursor.next()) {
        auto& row = result.rows.emplace_back();
        for (int i = 0; i < cursor.columns(); ++i) {
          if (cursor.null(i)) {
            row.emplace_back(std::nullopt);
          } else {
            row.emplace_back(std::string(cursor.bytes(i)));
          }
        }
      }
      result.affected = static_cast<std::uint64_t>(database_->changes());
      return result;
    } catch (const sqlite::Error& error) {
      constexpr int kPrimaryKey = 1555;
      constexpr int kUnique = 2067;
      constexpr int kRowId = 2579;
      constexpr int kConstraint = 19;
      busy = error.busy();
      const int code = error.code();
      const bool duplicate = code == kPrimaryKey || code == kUnique || code == kRowId;
      if (duplicate && is_insertion(statement)) return SqlRows();
      return Failure(busy                           ? Code::unreachable
                     : (code & 0xff) == kConstraint ? Code::invalid_argument
                                                    : Code::misconfigured,
                     "SQLite at " + path_.string() + ": " + error.what());
    }
  }

  Runtime& runtime_;
  std::filesystem::path path_;
  std::optional<sqlite::Database> database_;
};

}  // namespace

std::unique_ptr<VersionedStore> open_sqlite_store(const Url& url, const VersionedTable& table,
                                                  Runtime& runtime) {
  return std::make_unique<SqliteStore>(runtime, table, url.path);
}

}  // namespace holdfast::internal
