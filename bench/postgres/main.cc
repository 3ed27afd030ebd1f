// bench_postgres: the recipes of the PostgreSQL engine beside the bare statements that each stands on,
// through libpq, on a server of its own. Each ratio is of two numbers taken side by side in one
// repetition; the row's own is the median.
#include "database.h"
#include "postgres_raw.h"
#include "postgres_server.h"

namespace holdfast::bench {

namespace {

class PostgresDatabase : public Database {
 public:
  std::string url(const std::string& options) const override {
    return server_.url() + "?" + options;
  }
  int port() const override { return server_.port(); }
  // Each connection has a process of its own.
  std::vector<pid_t> processes() const override { return {}; }
  double queries() const override {
    return std::stod(server_.query(
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'postgres'"));
  }
  // A backend that has become idle reports after ten seconds.
  Seconds counts_within() const override { return Seconds(11); }

 private:
  // As in production; the data is in memory, where a commit costs what the server itself makes of it.
  test::PostgresServer server_{{.arguments = {"-c", "fsync=on", "-c", "full_page_writes=on", "-c",
                                              "max_connections=500", "-c", "shared_buffers=64MB"}}};
};

SqlSystem system() {
  return {
      .title = "PostgreSQL",
      .query_what = "transactions",
      .pairs = {{"advisory", "advisory, no token,", "recipe=advisory&tokens=no", "named", 0.9},
                {"advisory_token", "advisory with token", "recipe=advisory", "named", {}},
                {"row", "row", "recipe=row", "row", {}},
                {"table", "table", "recipe=table", "table", 0.8}},
      .blocking =
          {{"advisory", "advisory", "recipe=advisory", "named", 1.5},
           {"advisory_no_token", "advisory, no token,", "recipe=advisory&tokens=no", "named", {}},
           {"row", "row", "recipe=row", "row", 1.5}},
      .named_recipe = "advisory",
      .named_what = "pg_advisory_lock"};
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;  // NOLINT(google-build-using-namespace)
  return run_sql_program({.name = "bench_postgres",
                          .system = system(),
                          .start = [] { return std::make_unique<PostgresDatabase>(); },
                          .make_raw = make_postgres_raw},
                         argc, argv);
}
