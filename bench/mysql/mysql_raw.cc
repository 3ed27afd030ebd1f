#include "mysql_raw.h"

#include <mysql.h>

#include <stdexcept>
#include <thread>

namespace holdfast::bench {

namespace {

class MysqlRaw : public Raw {
 public:
  explicit MysqlRaw(int port) : session_(mysql_init(nullptr)) {
    if (!mysql_real_connect(session_, "127.0.0.1", "root", "", "holdfast",
                            static_cast<unsigned int>(port), nullptr, 0)) {
      const std::string why = mysql_error(session_);
      mysql_close(session_);
      throw std::runtime_error("raw: " + why);
    }
    execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  }
  ~MysqlRaw() override { mysql_close(session_); }
  MysqlRaw(const MysqlRaw&) = delete;
  MysqlRaw& operator=(const MysqlRaw&) = delete;

  void prepare(const std::string&) override {}
  void ping() override { execute("SELECT 1"); }

 protected:
  // The first cell.
  std::string execute(const std::string& text) {
    if (mysql_real_query(session_, text.data(), text.size()) != 0) {
      throw std::runtime_error(std::string("raw: ") + mysql_error(session_));
    }
    return cell();
  }
  // False if the server refused with one of these.
  bool execute_unless(const std::string& text, unsigned int first, unsigned int second) {
    if (mysql_real_query(session_, text.data(), text.size()) == 0) return cell(), true;
    const unsigned int number = mysql_errno(session_);
    if (number == first || number == second) return false;
    throw std::runtime_error(std::string("raw: ") + mysql_error(session_));
  }
  unsigned long long affected() const { return mysql_affected_rows(session_); }

 private:
  std::string cell() {
    MYSQL_RES* const result = mysql_store_result(session_);
    if (!result) return "";
    const MYSQL_ROW row = mysql_fetch_row(result);
    std::string text = row && row[0] ? row[0] : "";
    mysql_free_result(result);
    return text;
  }

  MYSQL* session_;
};

class Named final : public MysqlRaw {
 public:
  using MysqlRaw::MysqlRaw;
  void acquire(const std::string& name) override {
    if (execute("SELECT GET_LOCK('raw:" + name + "', 1000)") != "1") {
      throw std::runtime_error("raw: GET_LOCK failed");
    }
  }
  void release(const std::string& name) override {
    execute("SELECT RELEASE_LOCK('raw:" + name + "')");
  }
};

class LockedRow final : public MysqlRaw {
 public:
  explicit LockedRow(int port) : MysqlRaw(port) {
    execute("CREATE TABLE IF NOT EXISTS raw_row(name VARCHAR(64) PRIMARY KEY) ENGINE=InnoDB");
  }
  void prepare(const std::string& name) override {
    execute("INSERT IGNORE INTO raw_row SELECT '" + name +
            "' FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM raw_row WHERE name = '" + name + "')");
  }
  void acquire(const std::string& name) override {
    execute("BEGIN");
    execute("SELECT 1 FROM raw_row WHERE name = '" + name + "' FOR UPDATE");
  }
  void release(const std::string&) override { execute("COMMIT"); }
};

class Table final : public MysqlRaw {
 public:
  explicit Table(int port) : MysqlRaw(port) {
    execute(
        "CREATE TABLE IF NOT EXISTS raw_table(name VARCHAR(64) PRIMARY KEY, token BIGINT NOT NULL,"
        " owner VARCHAR(16), expires DATETIME(6)) ENGINE=InnoDB");
  }
  void acquire(const std::string& name) override {
    execute("INSERT INTO raw_table VALUES('" + name +
            "', 1, 'me', NOW(6) + INTERVAL 30 SECOND) ON DUPLICATE KEY UPDATE"
            " token = IF(owner IS NULL OR expires < NOW(6), token + 1, token),"
            " expires = IF(owner IS NULL OR expires < NOW(6), VALUES(expires), expires),"
            " owner = IF(owner IS NULL OR expires < NOW(6), VALUES(owner), owner)");
    if (affected() == 0) throw std::runtime_error("raw: it is not free");
  }
  void release(const std::string& name) override {
    execute("UPDATE raw_table SET owner = NULL WHERE name = '" + name + "' AND owner = 'me'");
  }
};

class Polled final : public MysqlRaw {
 public:
  explicit Polled(int port) : MysqlRaw(port) {
    execute("CREATE TABLE IF NOT EXISTS raw_polled(name VARCHAR(64) PRIMARY KEY) ENGINE=InnoDB");
  }
  void acquire(const std::string& name) override {
    // A duplicate, or a deadlock with others who try.
    while (!execute_unless("INSERT INTO raw_polled VALUES('" + name + "')", 1062, 1213)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void release(const std::string& name) override {
    while (!execute_unless("DELETE FROM raw_polled WHERE name = '" + name + "'", 1213, 1213)) {
    }
  }
};

}  // namespace

std::unique_ptr<Raw> make_mysql_raw(const std::string& kind, int port) {
  if (kind == "named") return std::make_unique<Named>(port);
  if (kind == "row") return std::make_unique<LockedRow>(port);
  if (kind == "table") return std::make_unique<Table>(port);
  if (kind == "poll") return std::make_unique<Polled>(port);
  throw std::runtime_error("raw: there is no '" + kind + "'");
}

}  // namespace holdfast::bench
