// MySQL or MariaDB: each recipe beside its bare statements (MariaDB's client library).
#include "kinds.h"
#include "mariadb_server.h"
#include "mysql_raw.h"
#include "sql.h"

namespace holdfast::bench {

namespace {

class Mysql final : public System {
 public:
  std::string title() const override { return title_of(test::ServerKind::mysql); }
  std::string url() const override { return server_.url("recipe=table"); }
  std::vector<pid_t> processes() const override { return {server_.pid()}; }
  CountDuring commands() const override {
    return difference_of([this] { return statements(); });
  }
  std::optional<ServerCounter> counter() const override {
    return ServerCounter{.what = "statements", .value = [this] { return statements(); }};
  }
  std::vector<Division> divisions() const override {
    return sql_divisions(
        "mysql", "named", "GET_LOCK",
        [this](const std::string& options) { return server_.url(options); }, server_.port());
  }
  std::optional<double> renewal_percent_at_most() const override { return 15; }

 private:
  double statements() const {
    return std::stod(server_.query("SHOW GLOBAL STATUS LIKE 'Questions'").at(0).at(1));
  }

  // As in production; the data is in memory, where a commit costs what the server itself makes of it.
  test::MariadbServer server_{
      {.arguments = {"--innodb-flush-log-at-trx-commit=1", "--innodb-flush-method=fsync",
                     "--innodb-buffer-pool-size=64M"}}};
};

}  // namespace

SystemKind mysql_kind() {
  return {.name = "mysql",
          .start = [](int) { return std::make_unique<Mysql>(); },
          .workers = {{"raw", [](const std::string& what) {
                         return be_sql_raw_worker(&make_mysql_raw, what);
                       }}}};
}

}  // namespace holdfast::bench
