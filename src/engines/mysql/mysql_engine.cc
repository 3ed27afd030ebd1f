#include "engines/mysql/mysql_engine.h"

#include "engines/mysql/session_recipe.h"
#include "engines/mysql/settings.h"
#include "engines/session/session_engine.h"

namespace holdfast::internal {

Guarantees mysql_guarantees() { return mysql::named_guarantees(); }

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
  return Failure(Code::unsupported, "the recipe 'table' is not there yet for MySQL");
}

}  // namespace holdfast::internal
