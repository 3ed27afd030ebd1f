#include "engines/postgres/postgres_engine.h"

#include "engines/postgres/examiner.h"
#include "engines/postgres/pooled_table.h"
#include "engines/postgres/postgres_table.h"
#include "engines/postgres/session_recipe.h"
#include "engines/session/session_engine.h"
#include "engines/table/server_table.h"
#include "engines/table/table_engine.h"
#include "sql/postgres/schema.h"
#include "wire/server_group.h"

namespace holdfast::internal {

namespace {

Guarantees without_push(Guarantees guarantees) {
  guarantees.wake_up = WakeUp::poll;
  guarantees.notes += " Behind a proxy that pools transactions waiters are not woken: they look.";
  return guarantees;
}

}  // namespace

Guarantees postgres_table_guarantees() { return table::server_guarantees("postgres"); }

Guarantees postgres_advisory_guarantees() { return postgres::advisory_guarantees(); }
Guarantees postgres_row_guarantees() { return postgres::row_guarantees(); }

Result<std::vector<std::string>> postgres_schema(const Url& url) {
  const Result<postgres::Settings> settings = postgres::settings_from(url, ClientOptions());
  if (!settings) return settings.failure();
  return postgres::schema_of(*settings);
}

Result<std::unique_ptr<Engine>> open_postgres_engine(const Url& url, Runtime& runtime,
                                                     const ClientOptions& options) {
  Result<postgres::Settings> settings = postgres::settings_from(url, options);
  if (!settings) return settings.failure();
  Guarantees guarantees = settings->recipe == "advisory"
                              ? session::promised(postgres_advisory_guarantees(), settings->tokens)
                          : settings->recipe == "row"
                              ? session::promised(postgres_row_guarantees(), settings->tokens)
                              : postgres_table_guarantees();
  if (settings->login.group) guarantees = across_servers(std::move(guarantees));
  if (settings->pooled) guarantees = without_push(std::move(guarantees));
  const auto examiner =
      std::make_shared<postgres::Examiner>(runtime, *settings, std::move(guarantees));
  settings->login.on_connected = [examiner](PostgresConnection& connection, Deadline deadline) {
    return examiner->meet(connection, deadline);
  };
  if (settings->recipe == "advisory" || settings->recipe == "row") {
    // Each lock has a connection: the few that a table needs are no limit for them.
    constexpr std::size_t kMax = 100'000;
    constexpr std::size_t kIdle = 16;
    const session::Limits limits{
        .request_timeout = settings->request_timeout,
        .connections = settings->connections_given ? settings->connections : kMax,
        .idle_connections = kIdle};
    return session::make_session_engine(runtime,
                                        settings->recipe == "row"
                                            ? postgres::make_row_recipe(runtime, *settings)
                                            : postgres::make_advisory_recipe(runtime, *settings),
                                        limits, examiner);
  }
  if (settings->recipe == "version") {
    return Failure(Code::invalid_argument,
                   "the recipe 'version' holds no lock: it is an API of its own, see "
                   "holdfast/versioned.h");
  }
  const std::string prefix = settings->prefix;
  const Duration request_timeout = settings->request_timeout;
  auto server =
      settings->pooled
          ? std::make_unique<postgres::PooledTable>(runtime, std::move(settings).value())
          : std::make_unique<postgres::PostgresTable>(runtime, std::move(settings).value());
  auto locks =
      std::make_unique<table::ServerTable>(runtime, std::move(server), prefix, request_timeout);
  return std::unique_ptr<Engine>(
      std::make_unique<table::TableEngine>(runtime, std::move(locks), examiner, request_timeout));
}

}  // namespace holdfast::internal
