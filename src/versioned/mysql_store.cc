// Versioned rows in MySQL and MariaDB.
#include <algorithm>

#include "base/unreachable_instead_of_unknown.h"
#include "sql/mysql/errors.h"
#include "sql/mysql/session.h"
#include "versioned/plain_store.h"
#include "versioned/shared_connection.h"

namespace holdfast::internal {

namespace {

// Of whole characters, none longer than it need be, no surrogates.
bool is_utf8(std::string_view text) {
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

class MysqlStore final : public PlainStore {
 public:
  MysqlStore(Runtime& runtime, const VersionedTable& table, mysql::Settings settings)
      : PlainStore(table, '`'),
        runtime_(runtime),
        settings_(std::move(settings)),
        connection_(runtime, [this](Deadline deadline) { return open(deadline); }) {}

  Task<Result<SqlRows>> run(SqlStatement statement, Deadline deadline) override {
    const bool inserts = is_insertion(statement);
    Result<SqlOutcome> outcome = co_await connection_.run(std::move(statement), deadline);
    if (!outcome) co_return outcome.failure();
    if (outcome->ok()) co_return std::move(outcome->results.back());
    const SqlError& error = *outcome->error;
    if (mysql::is_duplicate(error) && inserts) co_return SqlRows();
    if (mysql::refuses_value(error)) {
      co_return settings_.failure(Code::invalid_argument, error.message);
    }
    co_return mysql::failure_of(settings_, error);
  }

  // Bytes that are not UTF-8 fit into binary columns only: a latin1 column, say, would store other
  // characters than a reader gets.
  Task<Result<void>> check(const std::string& key, const std::vector<Value>& values,
                           Deadline deadline) override {
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
      co_return settings_.failure(
          Code::invalid_argument,
          "the value for " + columns[i] + " is not UTF-8, and the column is no BINARY");
    }
    co_return Result<void>();
  }

 protected:
  // The server makes a column's characters of UTF-8, and bytes of nothing but bytes.
  std::string place(const Value& value) const override {
    if (!value) return "?";
    return is_utf8(*value) ? "_utf8mb4 ?" : "_binary ?";
  }

 private:
  Task<Result<std::unique_ptr<SqlConnection>>> open(Deadline deadline) {
    Result<mysql::NewSession> session =
        co_await mysql::open_session(runtime_, settings_, mysql::SessionUse(), deadline);
    if (!session) co_return session.failure();
    co_return std::unique_ptr<SqlConnection>(std::move(session->connection));
  }

  Runtime& runtime_;
  mysql::Settings settings_;
  std::vector<bool> bytes_;  // which columns hold bytes; empty until it is known
  SharedConnection connection_;
};

}  // namespace

Result<std::unique_ptr<VersionedStore>> open_mysql_store(const Url& url,
                                                         const VersionedTable& table,
                                                         Runtime& runtime,
                                                         const ClientOptions& options) {
  Result<mysql::Settings> settings = mysql::settings_from(url, options);
  if (!settings) return settings.failure();
  return std::unique_ptr<VersionedStore>(
      std::make_unique<MysqlStore>(runtime, table, std::move(settings).value()));
}

}  // namespace holdfast::internal
