// PostgreSQL: each recipe beside its bare statements (libpq).
#include "kinds.h"
#include "postgres_raw.h"
#include "postgres_server.h"
#include "sql.h"

namespace holdfast::bench {

namespace {

class Postgres final : public System {
 public:
  std::string title() const override { return title_of(test::ServerKind::postgresql); }
  std::string url() const override { return url_of("recipe=table"); }
  // Each connection has a process of its own, so there are no processes to watch.
  std::optional<ServerCounter> counter() const override {
    return ServerCounter{.what = "transactions",
                         .value =
                             [this] {
                               return std::stod(
                                   server_.query("SELECT xact_commit + xact_rollback FROM "
                                                 "pg_stat_database WHERE datname = 'postgres'"));
                             },
                         // A backend that has become idle reports after ten seconds.
                         .delay = Seconds(11)};
  }
  std::vector<Division> divisions() const override {
    return sql_divisions(
        "postgres", "advisory", "pg_advisory_lock",
        [this](const std::string& options) { return url_of(options); }, server_.port());
  }

 private:
  std::string url_of(const std::string& options) const { return server_.url() + "?" + options; }

  // As in production; the data is in memory, where a commit costs what the server itself makes of it.
  test::PostgresServer server_{{.arguments = {"-c", "fsync=on", "-c", "full_page_writes=on", "-c",
                                              "max_connections=500", "-c", "shared_buffers=64MB"}}};
};

}  // namespace

SystemKind postgres_kind() {
  return {.name = "postgres",
          .start = [](int) { return std::make_unique<Postgres>(); },
          .workers = {{"raw", [](const std::string& what) {
                         return be_sql_raw_worker(&make_postgres_raw, what);
                       }}}};
}

}  // namespace holdfast::bench
