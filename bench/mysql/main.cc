// bench_mysql: the recipes of the MySQL engine beside the bare statements that each stands on, through
// MariaDB's client library, on a MariaDB of its own. Each ratio is of two numbers taken side by side
// in one repetition; the row's own is the median.
#include "database.h"
#include "mariadb_server.h"
#include "mysql_raw.h"

namespace holdfast::bench {

namespace {

class MariadbDatabase : public Database {
 public:
  std::string url(const std::string& options) const override { return server_.url(options); }
  int port() const override { return server_.port(); }
  std::vector<pid_t> processes() const override { return {server_.pid()}; }
  double queries() const override {
    return std::stod(server_.query("SHOW GLOBAL STATUS LIKE 'Questions'").at(0).at(1));
  }
  Seconds counts_within() const override { return Seconds(2); }

 private:
  // As in production; the data is in memory, where a commit costs what the server itself makes of it.
  test::MariadbServer server_{
      {.arguments = {"--innodb-flush-log-at-trx-commit=1", "--innodb-flush-method=fsync",
                     "--innodb-log-file-size=64M", "--innodb-buffer-pool-size=64M"}}};
};

SqlSystem system() {
  return {
      .title = "MariaDB",
      .query_what = "statements",
      .pairs = {{"named", "named, no token,", "recipe=named&tokens=no", "named", 0.9},
                {"named_token", "named with token", "recipe=named", "named", {}},
                {"row", "row", "recipe=row", "row", {}},
                {"table", "table", "recipe=table", "table", 0.8}},
      .blocking = {{"named", "named", "recipe=named", "named", 1.5},
                   {"named_no_token", "named, no token,", "recipe=named&tokens=no", "named", {}},
                   {"row", "row", "recipe=row", "row", 1.5}},
      .named_recipe = "named",
      .named_what = "GET_LOCK"};
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;  // NOLINT(google-build-using-namespace)
  return run_sql_program({.name = "bench_mysql",
                          .system = system(),
                          .start = [] { return std::make_unique<MariadbDatabase>(); },
                          .make_raw = make_mysql_raw},
                         argc, argv);
}
