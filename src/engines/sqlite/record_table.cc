#include "engines/sqlite/record_table.h"

namespace holdfast::internal {

namespace {

constexpr const char* kCreateRecords =
    "CREATE TABLE IF NOT EXISTS record(name BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID";

// Commits reach the disk while this lives. Made and destroyed outside of transactions: SQLite ignores the setting
// within one.
class Synced {
 public:
  Synced(sqlite::Database& database, bool already) : database_(database), already_(already) {
    if (!already_) database_.execute("PRAGMA synchronous = FULL");
  }
  ~Synced() {
    try {
      if (!already_) database_.execute("PRAGMA synchronous = NORMAL");
    } catch (const sqlite::Error&) {
      // It stays safe, and slower.
    }
  }
  Synced(const Synced&) = delete;
  Synced& operator=(const Synced&) = delete;

 private:
  sqlite::Database& database_;
  bool already_;
};

}  // namespace

struct RecordTable::Statements {
  explicit Statements(sqlite::Database& db)
      : find(db, "SELECT value FROM record WHERE name = ?1"),
        store(db, "INSERT OR REPLACE INTO record VALUES(?1, ?2)"),
        remove(db, "DELETE FROM record WHERE name = ?1"),
        list(db, "SELECT name, value FROM record WHERE name >= ?1 ORDER BY name") {}

  sqlite::Statement find;
  sqlite::Statement store;
  sqlite::Statement remove;
  sqlite::Statement list;
};

RecordTable::RecordTable(sqlite::Database& database, bool synced)
    : database_(database), synced_(synced) {}

RecordTable::~RecordTable() = default;

bool RecordTable::prepare() {
  if (sql_) return true;
  sqlite::Statement look(database_,
                         "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'record'");
  if (!look.run().next()) return false;
  sql_ = std::make_unique<Statements>(database_);
  return true;
}

std::optional<std::string> RecordTable::find(const Name& name) {
  auto row = sql_->find.run(name.bytes());
  if (!row.next()) return std::nullopt;
  return std::string(row.bytes(0));
}

std::optional<std::string> RecordTable::read(const Name& name) {
  return prepare() ? find(name) : std::nullopt;
}

bool RecordTable::swap(const Name& name, const std::optional<std::string>& expected,
                       const std::optional<std::string>& value) {
  const Synced synced(database_, synced_);
  sqlite::Transaction transaction(database_);
  const std::optional<std::string> found = prepare() ? find(name) : std::nullopt;
  if (found == value) return true;
  if (found != expected) return false;
  if (!sql_) {
    database_.execute(kCreateRecords);
    // Of their own: if this transaction does not commit, there is no table for those that are kept.
    sqlite::Statement(database_, "INSERT INTO record VALUES(?1, ?2)")
        .run(name.bytes(), std::string_view(*value))
        .finish();
  } else if (value) {
    sql_->store.run(name.bytes(), std::string_view(*value)).finish();
  } else {
    sql_->remove.run(name.bytes()).finish();
  }
  transaction.commit();
  return true;
}

std::vector<Record> RecordTable::list(const std::string& prefix) {
  std::vector<Record> all;
  if (!prepare()) return all;
  auto row = sql_->list.run(std::string_view(prefix));
  while (row.next()) {
    if (!row.bytes(0).starts_with(prefix)) break;
    if (Name::problem_with(row.bytes(0))) continue;  // not ours
    all.push_back({Name(row.bytes(0)), std::string(row.bytes(1))});
  }
  return all;
}

}  // namespace holdfast::internal
