#include "database.h"

#include "mariadb_server.h"
#include "postgres_client.h"
#include "postgres_server.h"

namespace holdfast::scenarios {

namespace {

class MysqlSession : public Session {
 public:
  explicit MysqlSession(int port) : client_(port, "holdfast") {}
  std::string value(const std::string& statement) override { return client_.value(statement); }
  void be_impatient() override { client_.query("SET SESSION wait_timeout = 1"); }

 private:
  test::MariadbClient client_;
};

class Mysql : public Database {
 public:
  sql::Dialect dialect() const override { return sql::Dialect::mysql; }
  int port() const override { return server_.port(); }
  std::string url(int port, const std::string& recipe) const override {
    return "mysql://root@127.0.0.1:" + std::to_string(port) + "/holdfast?recipe=" + recipe;
  }
  std::unique_ptr<Session> session(int port) const override {
    return std::make_unique<MysqlSession>(port);
  }
  void kill_sessions() override {
    for (const auto& row :
         server_.query("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = 'holdfast'")) {
      try {
        server_.query("KILL " + row.at(0));
      } catch (const std::runtime_error&) {  // It has gone by itself.
      }
    }
  }
  test::MovableClock& clock() override { return server_.clock(); }

 private:
  test::MariadbServer server_{{.movable_clock = true}};
};

class PostgresSession : public Session {
 public:
  explicit PostgresSession(int port) : client_("127.0.0.1", port) {}
  std::string value(const std::string& statement) override { return client_.value(statement); }
  void be_impatient() override { client_.value("SET idle_in_transaction_session_timeout = '1s'"); }

 private:
  test::PostgresClient client_;
};

class Postgres : public Database {
 public:
  sql::Dialect dialect() const override { return sql::Dialect::postgres; }
  int port() const override { return server_.port(); }
  std::string url(int port, const std::string& recipe) const override {
    return "postgres://postgres@127.0.0.1:" + std::to_string(port) + "/postgres?recipe=" + recipe;
  }
  std::unique_ptr<Session> session(int port) const override {
    return std::make_unique<PostgresSession>(port);
  }
  void kill_sessions() override {
    server_.query(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
  }
  test::MovableClock& clock() override { return server_.clock(); }

 private:
  test::PostgresServer server_{{.movable_clock = true}};
};

}  // namespace

Database& database(const std::string& name) {
  if (name == "mysql") {
    static Mysql mysql;
    return mysql;
  }
  static Postgres postgres;
  return postgres;
}

}  // namespace holdfast::scenarios
