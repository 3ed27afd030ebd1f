#include "engines/mysql/mysql_engine.h"

#include "engines/mysql/mysql_table.h"
#include "engines/mysql/session_recipe.h"
#include "engines/mysql/settings.h"
#include "engines/mysql/table_sql.h"
#include "engines/session/session_engine.h"
#include "engines/table/table_engine.h"

namespace holdfast::internal {

Guarantees mysql_named_guarantees() { return mysql::named_guarantees(); }
Guarantees mysql_row_guarantees() { return mysql::row_guarantees(); }

Guarantees mysql_table_guarantees() {
  return Guarantees{
      .engine = "mysql",
      .recipe = "table",
      .exclusion = Exclusion::bounded_by_clocks,
      .token = TokenStrength::durable_one_node,
      .wake_up = WakeUp::push,
      .fairness = Fairness::fifo,
      .shared_mode = true,
      .permit_mode = true,
      .min_ttl = std::chrono::milliseconds(50),
      .notes =
          "Leases are rows and outlive connections and restarts. A lock is lost if the server's "
          "clock is set ahead, or if a failover forgets the newest commits."};
}

Result<std::vector<std::string>> mysql_schema(const Url& url) {
  const Result<mysql::Settings> settings = mysql::settings_from(url, ClientOptions());
  if (!settings) return settings.failure();
  const bool table = settings->recipe == mysql::RecipeName::table;
  return table ? mysql::table_sql().schema : mysql::session_tables();
}

Result<std::unique_ptr<Engine>> open_mysql_engine(const Url& url, Runtime& runtime,
                                                  const ClientOptions& options) {
  const Result<mysql::Settings> settings = mysql::settings_from(url, options);
  if (!settings) return settings.failure();
  const session::Limits limits{.request_timeout = settings->request_timeout,
                               .connections = settings->connections,
                               .idle_connections = settings->idle_connections};
  switch (settings->recipe) {
    case mysql::RecipeName::named:
      return session::make_session_engine(runtime, mysql::make_named_recipe(runtime, *settings),
                                          limits);
    case mysql::RecipeName::row:
      return session::make_session_engine(runtime, mysql::make_row_recipe(runtime, *settings),
                                          limits);
    case mysql::RecipeName::table: break;
  }
  auto server = std::make_unique<mysql::MysqlTable>(runtime, *settings);
  return std::unique_ptr<Engine>(
      std::make_unique<table::TableEngine>(runtime, std::move(server), mysql_table_guarantees(),
                                           settings->prefix, settings->request_timeout));
}

}  // namespace holdfast::internal
