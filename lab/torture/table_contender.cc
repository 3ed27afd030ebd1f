#include "lab/torture/table_contender.h"

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "base/url.h"
#include "mariadb_client.h"
#include "postgres_client.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

// The first cell of what these statements, one after the other, return last.
using Run = std::function<std::string(const std::string& sql)>;

class TableWithoutExpiry : public Contender {
 public:
  // `insert` returns 1 if the row is new.
  TableWithoutExpiry(Run run, const std::string& lock_name, std::string insert)
      : run_(std::move(run)), insert_(std::move(insert)), name_("'" + lock_name + "'") {
    run_("CREATE TABLE IF NOT EXISTS torture_lock (name VARCHAR(200) PRIMARY KEY)");
  }

  Result<Token> acquire(const Ask& ask) override {
    const BootTime end = BootClock::now() + ask.patience;
    while (run_(insert_) != "1") {
      if (BootClock::now() >= end) return Failure::busy({});
      std::this_thread::sleep_for(5ms);
    }
    held_ = true;
    return Token(0);
  }
  bool held() override { return held_; }
  Result<void> release() override {
    if (held_) run_("DELETE FROM torture_lock WHERE name = " + name_);
    held_ = false;
    return {};
  }

 private:
  const Run run_;
  const std::string insert_;
  const std::string name_;
  bool held_ = false;
};

}  // namespace

std::unique_ptr<Contender> make_table_without_expiry(const std::string& url,
                                                     const std::string& lock_name) {
  const internal::Url parts = internal::Url::parse(url).value();
  const int port = std::stoi(parts.hosts.substr(parts.hosts.rfind(':') + 1));
  if (parts.scheme == "postgres") {
    auto server = std::make_shared<test::PostgresClient>("127.0.0.1", port);
    return std::make_unique<TableWithoutExpiry>(
        [server](const std::string& sql) { return server->value(sql); }, lock_name,
        "INSERT INTO torture_lock VALUES ('" + lock_name + "') ON CONFLICT DO NOTHING RETURNING 1");
  }
  auto server = std::make_shared<test::MariadbClient>(port, parts.path.substr(1));
  return std::make_unique<TableWithoutExpiry>(
      [server](const std::string& sql) { return server->value(sql); }, lock_name,
      "INSERT IGNORE INTO torture_lock VALUES ('" + lock_name + "') RETURNING 1");
}

}  // namespace holdfast::lab
