#include <stdexcept>
#include <utility>

#include "lab/torture/sites.h"
#include "mariadb_server.h"
#include "postgres_server.h"

namespace holdfast::lab {
namespace {

// What both databases are to a site.
template <class Server>
class DatabaseSiteServer : public SiteServer {
 public:
  DatabaseSiteServer() : server_({.movable_clock = true}) {}

  int port() const override { return server_.port(); }
  void pause() override { server_.pause(); }
  void resume() override { server_.resume(); }
  void kill() override { server_.kill(); }
  void restart() override { server_.restart(); }
  test::MovableClock& clock() override { return server_.clock(); }
  bool alive() override { return server_.running(); }

  Server& database() { return server_; }

 private:
  Server server_;
};

template <class Server>
class DatabaseSite : public Site {
 public:
  // The port stands between `before` and `after` in the URL.
  DatabaseSite(std::string before, std::string after)
      : Site(one_server(),
             [before = std::move(before), after = std::move(after)](const std::vector<int>& ports) {
               return before + std::to_string(ports.front()) + after;
             }) {}

  void kill_sessions() override {
    end_sessions(static_cast<DatabaseSiteServer<Server>&>(server(1)).database());
  }

 private:
  static std::vector<std::unique_ptr<SiteServer>> one_server() {
    std::vector<std::unique_ptr<SiteServer>> list;
    list.push_back(std::make_unique<DatabaseSiteServer<Server>>());
    return list;
  }

  static void end_sessions(test::PostgresServer& postgres) {
    postgres.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
  }
  static void end_sessions(test::MariadbServer& mariadb) {
    const auto rows = mariadb.query(
        "SELECT id FROM information_schema.processlist "
        "WHERE user = 'root' AND id <> connection_id()");
    for (const auto& row : rows) {
      try {
        mariadb.query("KILL " + row.at(0));
      } catch (const std::runtime_error&) {
        // It has ended meanwhile.
      }
    }
  }
};

}  // namespace

std::unique_ptr<Site> open_postgres(const std::string& recipe) {
  return std::make_unique<DatabaseSite<test::PostgresServer>>("postgres://postgres@127.0.0.1:",
                                                              "/postgres?recipe=" + recipe);
}

std::unique_ptr<Site> open_mysql(const std::string& recipe) {
  return std::make_unique<DatabaseSite<test::MariadbServer>>("mysql://root@127.0.0.1:",
                                                             "/holdfast?recipe=" + recipe);
}

}  // namespace holdfast::lab
