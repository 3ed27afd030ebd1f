#include "client/versioned_store.h"

#include <filesystem>

#include "engines/mysql/settings.h"
#include "engines/postgres/settings.h"
#include "wire/mariadb_connection.h"
#include "wire/postgres_connection.h"
#include "wire/sqlite.h"

namespace holdfast::internal {

namespace {

// "bank.accounts" with each part in the marks that the database wants.
std::string quoted(const std::string& identifier, char mark) {
  std::string text(1, mark);
  for (const char c : identifier) {
    if (c == '.') {
      text.append(1, mark).append(".").append(1, mark);
    } else {
      text.append(c == mark ? 2 : 1, c);
    }
  }
  return text + mark;
}

SqlValue value_of(const Versioned::Value& value) {
  return value ? SqlValue(*value) : SqlValue(nullptr);
}

// MySQL and SQLite: values in place, one by one. `text_` is how a value becomes a text.
class PlainStore : public VersionedStore {
 public:
  PlainStore(const VersionedTable& table, char mark, std::string text)
      : table_(quoted(table.table, mark)),
        key_(quoted(table.key, mark)),
        version_(quoted(table.version, mark)),
        text_(std::move(text)) {
    for (const std::string& column : table.columns) columns_.push_back(quoted(column, mark));
  }

  SqlStatement read(const std::string& key) const override {
    std::string text = "SELECT " + version_;
    for (const std::string& column : columns_) text += ", " + column;
    return {text + " FROM " + table_ + " WHERE " + key_ + " = " + text_, {key}};
  }
  SqlStatement write(const std::string& key, std::uint64_t version,
                     const std::vector<Value>& values) const override {
    SqlStatement statement;
    statement.text = "UPDATE " + table_ + " SET " + version_ + " = " + version_ + " + 1";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      statement.text += ", " + columns_[i] + " = " + text_;
      statement.values.push_back(value_of(values[i]));
    }
    statement.text += " WHERE " + key_ + " = " + text_ + " AND " + version_ + " = ?";
    statement.values.emplace_back(key);
    statement.values.emplace_back(static_cast<std::int64_t>(version));
    return statement;
  }
  SqlStatement insert(const std::string& key, const std::vector<Value>& values) const override {
    SqlStatement statement;
    std::string places;
    statement.text = insertion() + " INTO " + table_ + " (" + key_ + ", " + version_;
    statement.values.emplace_back(key);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      statement.text += ", " + columns_[i];
      places += ", " + text_;
      statement.values.push_back(value_of(values[i]));
    }
    statement.text += ") SELECT " + text_ + ", 1" + places + " WHERE NOT EXISTS (SELECT 1 FROM " +
                      table_ + " WHERE " + key_ + " = " + text_ + ")";
    statement.values.emplace_back(key);
    return statement;
  }

 protected:
  virtual std::string insertion() const { return "INSERT"; }

 private:
  std::string table_;
  std::string key_;
  std::string version_;
  std::string text_;
  std::vector<std::string> columns_;
};

// ---- SQLite ------------------------------------------------------------------------------------

class SqliteStore final : public PlainStore {
 public:
  SqliteStore(Runtime& runtime, const VersionedTable& table, std::filesystem::path path)
      : PlainStore(table, '"', "CAST(? AS TEXT)"), runtime_(runtime), path_(std::move(path)) {}

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
      busy = error.busy();
      return Failure(busy ? Code::unreachable : Code::misconfigured,
                     "SQLite at " + path_.string() + ": " + error.what());
    }
  }

  Runtime& runtime_;
  std::filesystem::path path_;
  std::optional<sqlite::Database> database_;
};

// ---- MySQL and PostgreSQL ----------------------------------------------------------------------

// One connection, opened when it is needed. Calls wait for each other.
class Line {
 public:
  using Open = std::function<Task<Result<std::unique_ptr<SqlConnection>>>(Deadline)>;
  Line(Runtime& runtime, Open open) : free_(runtime), open_(std::move(open)) { free_.set(); }

  // The failure of an error is the caller's business.
  Task<Result<SqlOutcome>> run(SqlStatement statement, Deadline deadline) {
    while (!free_.is_set()) {
      if (co_await free_.wait(deadline) != Woken::signalled) {
        co_return Failure(Code::unreachable, "the connection was busy all the time");
      }
    }
    free_.reset();
    struct Leaving {
      Event& free;
      ~Leaving() { free.set(); }
    };
    const Leaving leaving{free_};
    if (!connection_ || !connection_->connected()) {
      Result<std::unique_ptr<SqlConnection>> opened = co_await open_(deadline);
      if (!opened) co_return opened.failure();
      connection_ = std::move(opened).value();
    }
    std::vector<SqlStatement> statements;
    statements.push_back(std::move(statement));
    co_return co_await connection_->run(std::move(statements), deadline);
  }

 private:
  Event free_;
  Open open_;
  std::unique_ptr<SqlConnection> connection_;
};

class MysqlStore final : public PlainStore {
 public:
  MysqlStore(Runtime& runtime, const VersionedTable& table, mysql::Settings settings)
      : PlainStore(table, '`', "CONVERT(? USING utf8mb4)"),
        runtime_(runtime),
        settings_(std::move(settings)),
        line_(runtime, [this](Deadline deadline) { return open(deadline); }) {}

  Task<Result<SqlRows>> run(SqlStatement statement, Deadline deadline) override {
    Result<SqlOutcome> outcome = co_await line_.run(std::move(statement), deadline);
    if (!outcome) co_return outcome.failure();
    if (outcome->ok()) co_return std::move(outcome->results.back());
    co_return mariadb_failure(*outcome->error, settings_.connection.endpoint.display());
  }

 protected:
  // What somebody else inserts at the same moment is a conflict, not an error.
  std::string insertion() const override { return "INSERT IGNORE"; }

 private:
  Task<Result<std::unique_ptr<SqlConnection>>> open(Deadline deadline) {
    Result<std::unique_ptr<MariadbConnection>> made =
        co_await MariadbConnection::connect(runtime_, settings_.connection, deadline);
    if (!made) co_return made.failure();
    co_return std::unique_ptr<SqlConnection>(std::move(made).value());
  }

  Runtime& runtime_;
  mysql::Settings settings_;
  Line line_;
};

std::string json_of(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json.append(1, '\\').append(1, c);
    } else if (byte < 0x20) {
      constexpr const char* kDigits = "0123456789abcdef";
      json.append("\\u00").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    } else {
      json += c;
    }
  }
  return json + "\"";
}

// The values travel as a JSON object, which the server turns into the types of its columns.
class PostgresStore final : public VersionedStore {
 public:
  PostgresStore(Runtime& runtime, const VersionedTable& table, postgres::Settings settings)
      : runtime_(runtime),
        settings_(std::move(settings)),
        names_(table),
        table_(quoted(table.table, '"')),
        key_(quoted(table.key, '"')),
        version_(quoted(table.version, '"')),
        line_(runtime, [this](Deadline deadline) { return open(deadline); }) {}

  SqlStatement read(const std::string& key) const override {
    std::string text = "SELECT t." + version_;
    for (const std::string& column : names_.columns) {
      text += ", t." + quoted(column, '"') + "::text";
    }
    return {text + " FROM " + table_ + " t WHERE t." + key_ + " = (" + record() + ")." + key_,
            {object(key, {})}};
  }
  SqlStatement write(const std::string& key, std::uint64_t version,
                     const std::vector<Value>& values) const override {
    std::string text = "UPDATE " + table_ + " AS t SET " + version_ + " = t." + version_ + " + 1";
    for (const std::string& column : names_.columns) {
      text += ", " + quoted(column, '"') + " = r." + quoted(column, '"');
    }
    text += " FROM " + record() + " r WHERE t." + key_ + " = r." + key_ + " AND t." + version_ +
            " = $2::bigint";
    return {text, {object(key, values), static_cast<std::int64_t>(version)}};
  }
  SqlStatement insert(const std::string& key, const std::vector<Value>& values) const override {
    std::string columns;
    std::string sources;
    for (const std::string& column : names_.columns) {
      columns += ", " + quoted(column, '"');
      sources += ", r." + quoted(column, '"');
    }
    return {"INSERT INTO " + table_ + " (" + key_ + ", " + version_ + columns + ") SELECT r." +
                key_ + ", 1" + sources + " FROM " + record() + " r ON CONFLICT DO NOTHING",
            {object(key, values)}};
  }

  Task<Result<SqlRows>> run(SqlStatement statement, Deadline deadline) override {
    Result<SqlOutcome> outcome = co_await line_.run(std::move(statement), deadline);
    if (!outcome) co_return outcome.failure();
    if (outcome->ok()) co_return std::move(outcome->results.back());
    const SqlError& error = *outcome->error;
    const std::string where = "PostgreSQL at " + settings_.login.endpoint.display() + ": ";
    const std::string_view kind = std::string_view(error.state).substr(0, 2);
    const bool passing = error.lost || kind == "40" || kind == "53" || kind == "57";
    co_return Failure(error.may_have_run ? Code::unknown
                      : passing          ? Code::unreachable
                                         : Code::misconfigured,
                      where + error.message);
  }

 private:
  std::string record() const {
    return "jsonb_populate_record(NULL::" + table_ + ", $1::text::jsonb)";
  }
  std::string object(const std::string& key, const std::vector<Value>& values) const {
    std::string json = "{" + json_of(names_.key) + ":" + json_of(key);
    for (std::size_t i = 0; i < values.size(); ++i) {
      json += "," + json_of(names_.columns[i]) + ":";
      json += values[i] ? json_of(*values[i]) : "null";
    }
    return json + "}";
  }
  Task<Result<std::unique_ptr<SqlConnection>>> open(Deadline deadline) {
    Result<std::unique_ptr<PostgresConnection>> made =
        co_await PostgresConnection::connect(runtime_, settings_.login, deadline);
    if (!made) co_return made.failure();
    co_return std::unique_ptr<SqlConnection>(std::move(made).value());
  }

  Runtime& runtime_;
  postgres::Settings settings_;
  VersionedTable names_;
  std::string table_;
  std::string key_;
  std::string version_;
  Line line_;
};

}  // namespace

Result<std::unique_ptr<VersionedStore>> open_versioned_store(const Url& url,
                                                             const VersionedTable& table,
                                                             Runtime& runtime,
                                                             const ClientOptions& options) {
  using Store = std::unique_ptr<VersionedStore>;
  if (url.scheme == "sqlite") {
    return Store(std::make_unique<SqliteStore>(runtime, table, url.path));
  }
  if (url.scheme == "mysql" || url.scheme == "mariadb") {
    Result<mysql::Settings> settings = mysql::settings_from(url, options);
    if (!settings) return settings.failure();
    return Store(std::make_unique<MysqlStore>(runtime, table, std::move(settings).value()));
  }
  if (url.scheme == "postgres" || url.scheme == "postgresql") {
    Result<postgres::Settings> settings = postgres::settings_from(url, options);
    if (!settings) return settings.failure();
    return Store(std::make_unique<PostgresStore>(runtime, table, std::move(settings).value()));
  }
  return Failure(Code::invalid_argument,
                 "versioned rows are in mysql://, postgres:// or sqlite://, "
                 "not in '" +
                     url.scheme + ":'");
}

}  // namespace holdfast::internal
