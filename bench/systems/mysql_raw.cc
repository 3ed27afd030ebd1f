#include "mysql_raw.h"

#include <mysql.h>

#include <stdexcept>
#include <thread>

namespace holdfast::bench {

namespace {

class MysqlRaw : public SimpleLock {
 public:
  MysqlRaw(int port, std::string name) : name_(std::move(name)), session_(mysql_init(nullptr)) {
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

 protected:
  const std::string name_;

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
  void acquire() override {
    if (execute("SELECT GET_LOCK('raw:" + name_ + "', 1000)") != "1") {
      throw std::runtime_error("raw: GET_LOCK failed");
    }
  }
  void release() override { execute("SELECT RELEASE_LOCK('raw:" + name_ + "')"); }
};

class LockedRow final : public MysqlRaw {
 public:
  LockedRow(int port, const std::string& name) : MysqlRaw(port, name) {
    execute("CREATE TABLE IF NOT EXISTS raw_row(name VARCHAR(64) PRIMARY KEY) ENGINE=InnoDB");
    execute("INSERT IGNORE INTO raw_row SELECT '" + name_ +
            "' FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM raw_row WHERE name = '" + name_ + "')");
  }
  void acquire() override {
    execute("BEGIN");
    execute("SELECT 1 FROM raw_row WHERE name = '" + name_ + "' FOR UPDATE");
  }
  void release() override { execute("COMMIT"); }
};

class Polled final : public MysqlRaw {
 public:
  Polled(int port, const std::string& name) : MysqlRaw(port, name) {
    execute("CREATE TABLE IF NOT EXISTS raw_polled(name VARCHAR(64) PRIMARY KEY) ENGINE=InnoDB");
  }
  void acquire() override {
    // A duplicate, or a deadlock with others who try.
    while (!execute_unless("INSERT INTO raw_polled VALUES('" + name_ + "')", 1062, 1213)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void release() override {
    while (!execute_unless("DELETE FROM raw_polled WHERE name = '" + name_ + "'", 1213, 1213)) {
    }
  }
};

}  // namespace

std::unique_ptr<SimpleLock> make_mysql_raw(const std::string& kind, int port,
                                           const std::string& name) {
  if (kind == "named") return std::make_unique<Named>(port, name);
  if (kind == "row") return std::make_unique<LockedRow>(port, name);
  if (kind == "poll") return std::make_unique<Polled>(port, name);
  throw std::runtime_error("raw: there is no '" + kind + "'");
}

}  // namespace holdfast::bench
