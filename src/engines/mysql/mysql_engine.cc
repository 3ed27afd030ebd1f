#include "engines/mysql/mysql_engine.h"

#include "engines/mysql/examiner.h"
#include "engines/mysql/mysql_table.h"
#include "engines/mysql/session_recipe.h"
#include "engines/session/session_engine.h"
#include "engines/table/table_engine.h"
#include "sql/mysql/schema.h"
#include "sql/mysql/settings.h"
#include "wire/server_group.h"

namespace holdfast::internal {

Guarantees mysql_named_guarantees() { return mysql::named_guarantees(); }
Guarantees mysql_row_guarantees() { return mysql::row_guarantees(); }

Guarantees mysql_table_guarantees() { return table::server_guarantees("mysql"); }

Result<std::vector<std::string>> mysql_schema(const Url& url) {
  const Result<mysql::Settings> settings = mysql::settings_from(url, ClientOptions());
  if (!settings) return settings.failure();
  return mysql::schema_of(*settings);
}

namespace {

Guarantees guarantees_of(const mysql::Settings& settings) {
  switch (settings.recipe) {
    case mysql::RecipeName::table: return mysql_table_guarantees();
    case mysql::RecipeName::named:
      return session::promised(mysql_named_guarantees(), settings.tokens);
    case mysql::RecipeName::row: return session::promised(mysql_row_guarantees(), settings.tokens);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Engine>> open_mysql_engine(const Url& url, Runtime& runtime,
                                                  const ClientOptions& options) {
  Result<mysql::Settings> settings = mysql::settings_from(url, options);
  if (!settings) return settings.failure();
  Guarantees guarantees = guarantees_of(*settings);
  if (settings->connection.group) guarantees = across_servers(std::move(guarantees));
  const auto examiner =
      std::make_shared<mysql::Examiner>(runtime, *settings, std::move(guarantees));
  settings->connection.on_connected = [examiner](MariadbConnection& connection, Deadline deadline) {
    return examiner->meet(connection, deadline);
  };
  const session::Limits limits{.request_timeout = settings->request_timeout,
                               .connections = settings->connections,
                               .idle_connections = settings->idle_connections};
  switch (settings->recipe) {
    case mysql::RecipeName::named:
      return session::make_session_engine(runtime, mysql::make_named_recipe(runtime, *settings),
                                          limits, examiner);
    case mysql::RecipeName::row:
      return session::make_session_engine(runtime, mysql::make_row_recipe(runtime, *settings),
                                          limits, examiner);
    case mysql::RecipeName::table: break;
  }
  const Duration request_timeout = settings->request_timeout;
  auto locks = std::make_unique<mysql::MysqlTable>(runtime, *settings);
  return std::unique_ptr<Engine>(
      std::make_unique<table::TableEngine>(runtime, std::move(locks), examiner, request_timeout));
}

}  // namespace holdfast::internal
