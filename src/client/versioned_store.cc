#include "client/versioned_store.h"

#include <algorithm>
#include <filesystem>

#include "base/unreachable_instead_of_unknown.h"
#include "client/versioned_line.h"
#include "engines/registry.h"
#include "wire/sqlite.h"
#ifndef HOLDFAST_WITHOUT_MYSQL
#include "engines/mysql/session_setup.h"
#include "engines/mysql/settings.h"
#include "wire/mariadb_connection.h"
#endif

namespace holdfast::internal {

namespace {

// Of whole characters, none longer than it need be, no surrogates.
[[maybe_unused]] bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
    if (size == 0 || text.size() - i < size) return false;
    std::uint32_t code = size == 1 ? first : first & (0x7fU >> size);
    for (std::size_t j = 1; j < size; ++j) {
      const auto next = static_cast<unsigned char>(text[i + j]);
      if ((next & 0xc0U) != 0x80) return false;
      code = code << 6 | (next & 0x3fU);
    }
    if (size == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) return false;
    if (size == 4 && (code < 0x10000 || code > 0x10ffff)) return false;
    i += size;
  }
  return true;
}

// MySQL and SQLite: values in place, one by one.
class PlainStore : public VersionedStore {
 public:
  PlainStore(const VersionedTable& table, char mark)
      : table_(quoted(table.table, mark)),
        key_(quoted(table.key, mark)),
        version_(quoted(table.version, mark)) {
    for (const std::string& column : table.columns) columns_.push_back(quoted(column, mark));
  }

  Task<Result<SqlRows>> read(std::string key, Deadline deadline) override {
    return run(reading(key), deadline);
  }
  Task<Result<SqlRows>> write(std::string key, std::uint64_t version, std::vector<Value> values,
                              Deadline deadline) override {
    return run(writing(key, version, values), deadline);
  }
  Task<Result<SqlRows>> insert(std::string key, std::vector<Value> values,
                               Deadline deadline) override {
    return run(inserting(key, values), deadline);
  }

 protected:
  virtual Task<Result<SqlRows>> run(SqlStatement statement, Deadline deadline) = 0;
  // How a value stands in a statement: as a text, whatever the column is.
  virtual std::string place(const Value& value) const = 0;

  SqlStatement reading(const std::string& key) const {
    std::string text = "SELECT " + version_;
    for (const std::string& column : columns_) text += ", " + column;
    SqlStatement statement{text + " FROM " + table_ + " WHERE " + key_ + " = " + place(key), {key}};
    statement.answer = versioned_row(columns_.size());
    return statement;
  }
  SqlStatement writing(const std::string& key, std::uint64_t version,
                       const std::vector<Value>& values) const {
    SqlStatement statement;
    statement.text = "UPDATE " + table_ + " SET " + version_ + " = " + version_ + " + 1";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      statement.text += ", " + columns_[i] + " = " + place(values[i]);
      statement.values.push_back(value_of(values[i]));
    }
    statement.text += " WHERE " + key_ + " = " + place(key) + " AND " + version_ + " = ?";
    statement.values.emplace_back(key);
    statement.values.emplace_back(static_cast<std::int64_t>(version));
    return statement;
  }
  SqlStatement inserting(const std::string& key, const std::vector<Value>& values) const {
    SqlStatement statement;
    std::string places;
    statement.text = "INSERT INTO " + table_ + " (" + key_ + ", " + version_;
    statement.values.emplace_back(key);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      statement.text += ", " + columns_[i];
      places += ", " + place(values[i]);
      statement.values.push_back(value_of(values[i]));
    }
    statement.text += ") VALUES (" + place(key) + ", 1" + places + ")";
    return statement;
  }

  // Where a duplicate is a conflict. That of an update is another column's, and no other version.
  static bool is_insertion(const SqlStatement& statement) {
    return statement.text.starts_with("INSERT");
  }

  const std::string& table() const { return table_; }
  // Of the key, then of the columns.
  std::vector<std::string> value_columns() const {
    std::vector<std::string> all{key_};
    all.insert(all.end(), columns_.begin(), columns_.end());
    return all;
  }

 private:
  std::string table_;
  std::string key_;
  std::string version_;
  std::vector<std::string> columns_;
};

// ---- SQLite ------------------------------------------------------------------------------------

class SqliteStore final : public PlainStore {
 public:
  SqliteStore(Runtime& runtime, const VersionedTable& table, std::filesystem::path path)
      : PlainStore(table, '"'), runtime_(runtime), path_(std::move(path)) {}

 protected:
  std::string place(const Value&) const override { return "CAST(? AS TEXT)"; }

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

// ---- MySQL -------------------------------------------------------------------------------------

#ifndef HOLDFAST_WITHOUT_MYSQL

class MysqlStore final : public PlainStore {
 public:
  MysqlStore(Runtime& runtime, const VersionedTable& table, mysql::Settings settings)
      : PlainStore(table, '`'),
        runtime_(runtime),
        settings_(std::move(settings)),
        line_(runtime, [this](Deadline deadline) { return open(deadline); }) {}

  Task<Result<SqlRows>> write(std::string key, std::uint64_t version, std::vector<Value> values,
                              Deadline deadline) override {
    const Result<void> fits = co_await check(key, values, deadline);
    if (!fits) co_return fits.failure();
    co_return co_await run(writing(key, version, values), deadline);
  }
  Task<Result<SqlRows>> insert(std::string key, std::vector<Value> values,
                               Deadline deadline) override {
    const Result<void> fits = co_await check(key, values, deadline);
    if (!fits) co_return fits.failure();
    co_return co_await run(inserting(key, values), deadline);
  }

 protected:
  // The server makes a column's characters of UTF-8, and bytes of nothing but bytes.
  std::string place(const Value& value) const override {
    if (!value) return "?";
    return is_utf8(*value) ? "_utf8mb4 ?" : "_binary ?";
  }

  Task<Result<SqlRows>> run(SqlStatement statement, Deadline deadline) override {
    const bool inserts = is_insertion(statement);
    Result<SqlOutcome> outcome = co_await line_.run(std::move(statement), deadline);
    if (!outcome) co_return outcome.failure();
    if (outcome->ok()) co_return std::move(outcome->results.back());
    constexpr int kDuplicate = 1062;
    const SqlError& error = *outcome->error;
    if (error.number == kDuplicate && inserts) co_return SqlRows();
    // A data exception, or a constraint.
    const std::string_view kind = std::string_view(error.state).substr(0, 2);
    constexpr int kNotOfTheColumn = 1366;
    constexpr int kNotUtf8 = 1300;
    if (kind == "22" || kind == "23" || error.number == kNotOfTheColumn ||
        error.number == kNotUtf8) {
      co_return failed(Code::invalid_argument, error.message);
    }
    co_return mariadb_failure(error, settings_.connection.endpoint.display());
  }

 private:
  Failure failed(Code code, const std::string& why) const {
    return Failure(code, "MySQL at " + settings_.connection.endpoint.display() + ": " + why);
  }

  // Bytes that are not UTF-8 fit into binary columns only: a latin1 column, say, would store other
  // characters than a reader gets.
  Task<Result<void>> check(const std::string& key, const std::vector<Value>& values,
                           Deadline deadline) {
    std::vector<bool> raw{!is_utf8(key)};
    for (const Value& value : values) raw.push_back(value && !is_utf8(*value));
    if (std::find(raw.begin(), raw.end(), true) == raw.end()) co_return Result<void>();
    const std::vector<std::string> columns = value_columns();
    if (bytes_.empty()) {
      SqlStatement ask;
      for (const std::string& column : columns) {
        ask.text += (ask.text.empty() ? "SELECT CHARSET(t." : ", CHARSET(t.") + column + ")";
      }
      ask.text += " FROM (SELECT 1) AS one LEFT JOIN " + table() + " t ON FALSE";
      ask.answer = one_row(std::string(columns.size(), 'B'));
      const Result<SqlRows> rows = co_await run(std::move(ask), deadline);
      if (!rows) co_return unreachable_instead_of_unknown(rows.failure());
      for (std::size_t i = 0; i < columns.size(); ++i) {
        bytes_.push_back(rows->bytes(0, i) == "binary");
      }
    }
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (!raw[i] || bytes_[i]) continue;
      co_return failed(Code::invalid_argument, "the value for " + columns[i] +
                                                   " is not UTF-8, and the column is no BINARY");
    }
    co_return Result<void>();
  }

  Task<Result<std::unique_ptr<SqlConnection>>> open(Deadline deadline) {
    Result<std::unique_ptr<MariadbConnection>> made =
        co_await MariadbConnection::connect(runtime_, settings_.connection, deadline);
    if (!made) co_return made.failure();
    std::vector<SqlStatement> setup(1);
    setup[0].text = mysql::session_setup((*made)->is_mariadb());
    const SqlOutcome ready = co_await (*made)->run(std::move(setup), deadline);
    if (!ready.ok()) {
      SqlError error = *ready.error;
      error.may_have_run = false;
      co_return mariadb_failure(error, settings_.connection.endpoint.display());
    }
    co_return std::unique_ptr<SqlConnection>(std::move(made).value());
  }

  Runtime& runtime_;
  mysql::Settings settings_;
  std::vector<bool> bytes_;  // which columns hold bytes; empty until it is known
  Line line_;
};

#endif

}  // namespace

Result<std::unique_ptr<VersionedStore>> open_versioned_store(const Url& url,
                                                             const VersionedTable& table,
                                                             Runtime& runtime,
                                                             const ClientOptions& options) {
  using Store = std::unique_ptr<VersionedStore>;
  if (url.scheme == "sqlite") {
    return Store(std::make_unique<SqliteStore>(runtime, table, url.path));
  }
#ifndef HOLDFAST_WITHOUT_MYSQL
  if (url.scheme == "mysql" || url.scheme == "mariadb") {
    Result<mysql::Settings> settings = mysql::settings_from(url, options);
    if (!settings) return settings.failure();
    return Store(std::make_unique<MysqlStore>(runtime, table, std::move(settings).value()));
  }
#endif
#ifndef HOLDFAST_WITHOUT_POSTGRES
  if (url.scheme == "postgres" || url.scheme == "postgresql") {
    return open_versioned_postgres(url, table, runtime, options);
  }
#endif
  if (Failure absent = no_engine(url); absent.code() == Code::misconfigured) return absent;
  return Failure(Code::invalid_argument,
                 "versioned rows are in mysql://, postgres:// or sqlite://, "
                 "not in '" +
                     url.scheme + ":'");
}

}  // namespace holdfast::internal
