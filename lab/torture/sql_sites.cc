#include <stdexcept>
#include <utility>

#include "lab/torture/sites.h"
#include "mariadb_server.h"
#include "postgres_server.h"
#include "waiting.h"

namespace holdfast::lab {
namespace {

using test::MariadbServer;
using test::PostgresServer;

// ---- Differences --------------------------------------------------------------------------------

void end_sessions(PostgresServer& postgres) {
  postgres.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
      "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
}
void end_sessions(MariadbServer& mariadb) {
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

template <class Options>
void add(Options& options, std::initializer_list<const char*> more) {
  options.arguments.insert(options.arguments.end(), more.begin(), more.end());
}

void set_up(test::PostgresOptions& options, const SiteOptions& wanted) {
  if (wanted.syncs) add(options, {"-c", "fsync=on"});
  if (wanted.defaults == Defaults::strict) {
    add(options, {"-c", "default_transaction_isolation=serializable"});
    add(options, {"-c", "default_transaction_deferrable=on", "-c", "lock_timeout=1000"});
    add(options, {"-c", "statement_timeout=1000"});
  }
  if (wanted.defaults == Defaults::lax) {
    add(options, {"-c", "default_transaction_isolation=read uncommitted"});
    add(options, {"-c", "idle_session_timeout=2000"});
    add(options, {"-c", "idle_in_transaction_session_timeout=500"});
  }
}
void set_up(test::MariadbOptions& options, const SiteOptions& wanted) {
  if (wanted.replica) add(options, {"--log-bin", "--server-id=1"});
  if (wanted.syncs) {
    add(options, {"--innodb-flush-log-at-trx-commit=1", "--innodb-flush-method=fsync"});
  }
  if (wanted.defaults == Defaults::strict) {
    add(options, {"--autocommit=0", "--transaction-isolation=SERIALIZABLE"});
    add(options, {"--innodb-rollback-on-timeout=1", "--innodb-lock-wait-timeout=1"});
  }
  if (wanted.defaults == Defaults::lax) {
    add(options, {"--autocommit=0", "--transaction-isolation=READ-UNCOMMITTED"});
    add(options, {"--wait-timeout=2", "--interactive-timeout=2", "--completion-type=CHAIN"});
  }
}

std::filesystem::path data_of(const PostgresServer& server) { return server.directory() / "data"; }
std::filesystem::path data_of(const MariadbServer& server) { return server.data(); }

// A server that follows `leader`, which it reaches through `port`; in step when it returns.
std::unique_ptr<PostgresServer> follower_of(const PostgresServer& leader, int port) {
  auto follower = std::make_unique<PostgresServer>(test::PostgresOptions{.follows = port});
  test::wait_for("the replica to be in step", [&] {
    return leader.query("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") ==
           "1";
  });
  return follower;
}
std::unique_ptr<MariadbServer> follower_of(const MariadbServer& leader, int port) {
  auto follower = std::make_unique<MariadbServer>(
      test::MariadbOptions{.arguments = {"--log-bin", "--server-id=2"}});
  follower->follow(leader, port);
  leader.query("CREATE DATABASE holdfast_replicated");
  test::wait_for("the replica to be in step",
                 [&] { return !follower->query("SHOW DATABASES LIKE '%replicated'").empty(); });
  return follower;
}

// ---- Both databases -----------------------------------------------------------------------------

template <class Server>
class DatabaseSiteServer : public SiteServer {
 public:
  explicit DatabaseSiteServer(typename Server::Options options) : server_(std::move(options)) {}

  int port() const override { return server_.port(); }
  void pause() override { server_.pause(); }
  void resume() override { server_.resume(); }
  void kill() override {
    stall_disk(false);  // PostgreSQL syncs a file before it ends.
    server_.kill();
  }
  void restart() override { server_.restart(); }
  test::MovableClock& clock() override { return server_.clock(); }
  bool alive() override { return server_.running(); }
  std::vector<std::filesystem::path> data() const override { return {data_of(server_)}; }
  void stall_disk(bool stalled) override { server_.clock().stall_disk(stalled); }

  Server& database() { return server_; }

 private:
  Server server_;
};

template <class Server>
class DatabaseSite : public Site {
 public:
  // The port stands between `before` and `after` in the URL.
  DatabaseSite(const std::string& before, const std::string& after, const SiteOptions& options)
      : Site(one_server(options), [before, after](const std::vector<int>& ports) {
          return before + std::to_string(ports.front()) + after;
        }) {
    if (!options.replica) return;
    link_ = std::make_unique<test::Proxy>(server(1).port());
    replica_ = follower_of(database(), link_->port());
  }

  void kill_sessions() override { end_sessions(database()); }

  std::string who_died() override {
    return replica_ && !replica_->running() ? "the replica" : Site::who_died();
  }
  void cut_replication() override { link_->set_both(test::ProxyMode::drop); }

 private:
  int promote() override {
    replica_->promote();
    return replica_->port();
  }

  static std::vector<std::unique_ptr<SiteServer>> one_server(const SiteOptions& wanted) {
    typename Server::Options options{.movable_clock = true};
    set_up(options, wanted);
    std::vector<std::unique_ptr<SiteServer>> list;
    list.push_back(std::make_unique<DatabaseSiteServer<Server>>(std::move(options)));
    return list;
  }
  Server& database() { return static_cast<DatabaseSiteServer<Server>&>(server(1)).database(); }

  std::unique_ptr<test::Proxy> link_;
  std::unique_ptr<Server> replica_;
};

}  // namespace

std::unique_ptr<Site> open_postgres(const std::string& recipe, const SiteOptions& options) {
  return std::make_unique<DatabaseSite<PostgresServer>>(
      "postgres://postgres@127.0.0.1:", "/postgres?recipe=" + recipe, options);
}

std::unique_ptr<Site> open_mysql(const std::string& recipe, const SiteOptions& options) {
  return std::make_unique<DatabaseSite<MariadbServer>>(
      "mysql://root@127.0.0.1:", "/holdfast?recipe=" + recipe, options);
}

}  // namespace holdfast::lab
