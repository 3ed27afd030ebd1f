#include "postgres_raw.h"

#include <libpq-fe.h>

#include <stdexcept>
#include <thread>

namespace holdfast::bench {

namespace {

class PostgresRaw : public SimpleLock {
 public:
  PostgresRaw(int port, std::string name)
      : name_(std::move(name)),
        session_(PQconnectdb(
            ("host=127.0.0.1 user=postgres dbname=postgres port=" + std::to_string(port))
                .c_str())) {
    if (PQstatus(session_) != CONNECTION_OK) {
      const std::string why = PQerrorMessage(session_);
      PQfinish(session_);
      throw std::runtime_error("raw: " + why);
    }
    run("SET client_min_messages = warning");  // or it says that the tables are there already
  }
  ~PostgresRaw() override { PQfinish(session_); }
  PostgresRaw(const PostgresRaw&) = delete;
  PostgresRaw& operator=(const PostgresRaw&) = delete;

 protected:
  const std::string name_;

  struct Answer {
    std::string state;  // SQLSTATE; empty: it went well
    std::string cell;
    int rows = 0;
  };

  void define(const char* statement, const char* text) {
    checked(PQprepare(session_, statement, text, 0, nullptr));
  }
  void run(const char* text) { checked(PQexec(session_, text)); }
  Answer try_to(const char* statement, const std::string* value) {
    const char* values[1] = {value ? value->c_str() : nullptr};
    return take(PQexecPrepared(session_, statement, value ? 1 : 0, values, nullptr, nullptr, 0));
  }
  Answer execute(const char* statement, const std::string* value = nullptr) {
    Answer answer = try_to(statement, value);
    if (!answer.state.empty()) throw std::runtime_error("raw: " + answer.cell);
    return answer;
  }

 private:
  static Answer take(PGresult* result) {
    Answer answer;
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
      answer.state = state ? state : "lost";
      answer.cell = PQresultErrorMessage(result);
    } else if ((answer.rows = PQntuples(result)) > 0) {
      answer.cell = PQgetvalue(result, 0, 0);
    }
    PQclear(result);
    return answer;
  }
  static void checked(PGresult* result) {
    const Answer answer = take(result);
    // `IF NOT EXISTS` still fails when eight sessions create the table at once.
    const bool made = answer.state == "42P07" || answer.state == "23505";
    if (!answer.state.empty() && !made) throw std::runtime_error("raw: " + answer.cell);
  }

  PGconn* session_;
};

class Advisory final : public PostgresRaw {
 public:
  Advisory(int port, const std::string& name) : PostgresRaw(port, name) {
    define("lock", "SELECT pg_advisory_lock(hashtextextended($1, 0))");
    define("unlock", "SELECT pg_advisory_unlock(hashtextextended($1, 0))");
  }
  void acquire() override { execute("lock", &name_); }
  void release() override { execute("unlock", &name_); }
};

class LockedRow final : public PostgresRaw {
 public:
  LockedRow(int port, const std::string& name) : PostgresRaw(port, name) {
    run("CREATE TABLE IF NOT EXISTS raw_row(name text PRIMARY KEY)");
    define("make", "INSERT INTO raw_row VALUES($1) ON CONFLICT DO NOTHING");
    define("begin", "BEGIN");
    define("lock", "SELECT 1 FROM raw_row WHERE name = $1 FOR UPDATE");
    define("commit", "COMMIT");
    execute("make", &name_);
  }
  void acquire() override {
    execute("begin");
    execute("lock", &name_);
  }
  void release() override { execute("commit"); }
};

class Polled final : public PostgresRaw {
 public:
  Polled(int port, const std::string& name) : PostgresRaw(port, name) {
    run("CREATE TABLE IF NOT EXISTS raw_polled(name text PRIMARY KEY)");
    define("insert", "INSERT INTO raw_polled VALUES($1) ON CONFLICT DO NOTHING RETURNING 1");
    define("delete", "DELETE FROM raw_polled WHERE name = $1");
  }
  void acquire() override {
    while (execute("insert", &name_).rows == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void release() override { execute("delete", &name_); }
};

}  // namespace

std::unique_ptr<SimpleLock> make_postgres_raw(const std::string& kind, int port,
                                              const std::string& name) {
  if (kind == "named") return std::make_unique<Advisory>(port, name);
  if (kind == "row") return std::make_unique<LockedRow>(port, name);
  if (kind == "poll") return std::make_unique<Polled>(port, name);
  throw std::runtime_error("raw: there is no '" + kind + "'");
}

}  // namespace holdfast::bench
