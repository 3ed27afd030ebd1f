// Versioned rows in PostgreSQL.
#include "sql/postgres/errors.h"
#include "sql/postgres/session.h"
#include "versioned/shared_connection.h"
#include "versioned/statements.h"
#include "versioned/store.h"

namespace holdfast::internal {

namespace {

std::string text_literal(const std::string& text) {
  std::string literal = " E'";
  for (const char c : text) literal.append(c == '\'' || c == '\\' ? 2 : 1, c);
  return literal + "'";
}

// The values travel as bytes, and become a JSON object in the server, which turns it into the types of its
// columns.
class PostgresStore final : public VersionedStore {
 public:
  PostgresStore(Runtime& runtime, const VersionedTable& table, postgres::Settings settings)
      : runtime_(runtime),
        settings_(std::move(settings)),
        names_(table),
        table_(quoted(table.table, '"')),
        key_(quoted(table.key, '"')),
        version_(quoted(table.version, '"')),
        connection_(runtime, [this](Deadline deadline) { return open(deadline); }) {}

  SqlStatement reading(const std::string& key) const override {
    std::string text = "SELECT t." + version_;
    for (const std::string& name : names_.columns) {
      const std::string column = "t." + quoted(name, '"');
      // Always bytes, with the driver. The text of a bytea begins with \\x.
      text += ", CASE WHEN " + is_bytea(column) + " THEN decode(substr(" + column +
              "::text, 3), 'hex') ELSE convert_to(" + column + "::text, 'UTF8') END";
    }
    SqlStatement statement{
        text + " FROM " + table_ + " t WHERE t." + key_ + " = (" + record(0) + ")." + key_, {key}};
    statement.answer = versioned_row(names_.columns.size());
    return statement;
  }
  SqlStatement writing(const std::string& key, std::uint64_t version,
                       const std::vector<Value>& values) const override {
    std::string text = "UPDATE " + table_ + " AS t SET " + version_ + " = t." + version_ + " + 1";
    for (const std::string& column : names_.columns) {
      text += ", " + quoted(column, '"') + " = r." + quoted(column, '"');
    }
    SqlStatement statement{"", values_of(key, values)};
    statement.values.emplace_back(static_cast<std::int64_t>(version));
    statement.text = text + " FROM " + record(values.size()) + " r WHERE t." + key_ + " = r." +
                     key_ + " AND t." + version_ + " = $" +
                     std::to_string(statement.values.size()) + "::bigint";
    return statement;
  }
  SqlStatement inserting(const std::string& key, const std::vector<Value>& values) const override {
    std::string columns;
    std::string sources;
    for (const std::string& column : names_.columns) {
      columns += ", " + quoted(column, '"');
      sources += ", r." + quoted(column, '"');
    }
    SqlStatement statement{"INSERT INTO " + table_ + " (" + key_ + ", " + version_ + columns +
                               ") SELECT r." + key_ + ", 1" + sources + " FROM " +
                               record(values.size()) + " r ON CONFLICT DO NOTHING",
                           values_of(key, values)};
    return statement;
  }

  Task<Result<SqlRows>> run(SqlStatement statement, Deadline deadline) override {
    Result<SqlOutcome> outcome = co_await connection_.run(std::move(statement), deadline);
    if (!outcome) co_return outcome.failure();
    if (outcome->ok()) co_return std::move(outcome->results.back());
    const SqlError& error = *outcome->error;
    if (postgres::refuses_value(error) && !error.may_have_run) {
      co_return settings_.failure(Code::invalid_argument, error.message);
    }
    co_return postgres::failure_of(settings_, error);
  }

 private:
  static std::string is_bytea(const std::string& column) {
    return "pg_typeof(" + column + ") = 'bytea'::regtype";
  }
  // The member of the object for a column, from a parameter.
  std::string member(const std::string& name, std::size_t parameter) const {
    const std::string column = "(NULL::" + table_ + ")." + quoted(name, '"');
    const std::string value = "$" + std::to_string(parameter) + "::bytea";
    return text_literal(name) + ", CASE WHEN " + is_bytea(column) +
           " THEN to_jsonb('\\x' || encode(" + value + ", 'hex')) WHEN pg_typeof(" + column +
           ") IN ('json'::regtype, 'jsonb'::regtype) THEN convert_from(" + value +
           ", 'UTF8')::jsonb ELSE to_jsonb(convert_from(" + value + ", 'UTF8')) END";
  }
  // A row with the key and so many values.
  std::string record(std::size_t values) const {
    std::string object = member(names_.key, 1);
    for (std::size_t i = 0; i < values; ++i) object += ", " + member(names_.columns[i], i + 2);
    return "jsonb_populate_record(NULL::" + table_ + ", jsonb_build_object(" + object + "))";
  }
  static std::vector<SqlValue> values_of(const std::string& key, const std::vector<Value>& values) {
    std::vector<SqlValue> all{key};
    for (const Value& value : values) all.push_back(value_of(value));
    return all;
  }
  Task<Result<std::unique_ptr<SqlConnection>>> open(Deadline deadline) {
    const postgres::SessionUse use{.own_backend = false};
    Result<postgres::NewSession> session =
        co_await postgres::open_session(runtime_, settings_, use, deadline);
    if (!session) co_return session.failure();
    co_return std::unique_ptr<SqlConnection>(std::move(session->connection));
  }

  Runtime& runtime_;
  postgres::Settings settings_;
  VersionedTable names_;
  std::string table_;
  std::string key_;
  std::string version_;
  SharedConnection connection_;
};

}  // namespace

Result<std::unique_ptr<VersionedStore>> open_postgres_store(const Url& url,
                                                            const VersionedTable& table,
                                                            Runtime& runtime,
                                                            const ClientOptions& options) {
  Result<postgres::Settings> settings = postgres::settings_from(url, options);
  if (!settings) return settings.failure();
  if (settings->pooled) {
    return Failure(
        Code::invalid_argument,
        "pooled=yes is for locks (recipe=table): versioned rows need a session of their own");
  }
  return std::unique_ptr<VersionedStore>(
      std::make_unique<PostgresStore>(runtime, table, std::move(settings).value()));
}

}  // namespace holdfast::internal
