// Shared by the tests of the SQLite engine alone.
#pragma once

#include <sqlite3.h>

#include "contract.h"

namespace holdfast::contract {

// Reads and changes the database behind the engine's back.
class Backdoor {
 public:
  explicit Backdoor(const std::filesystem::path& path) {
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &raw_, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    sqlite3_busy_timeout(raw_, 5000);
  }
  ~Backdoor() { sqlite3_close(raw_); }
  Backdoor(const Backdoor&) = delete;
  Backdoor& operator=(const Backdoor&) = delete;

  void execute(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(raw_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(raw_);
  }
  std::int64_t number(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(raw_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(raw_);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const std::int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
  }

 private:
  sqlite3* raw_ = nullptr;
};

class SqliteTest : public testing::Test {
 protected:
  std::filesystem::path folder() const { return folder_.path(); }
  std::filesystem::path file() const { return folder() / "locks.db"; }
  std::string url() const { return "sqlite://" + file().string(); }
  Client open() const { return Client::open(url()).value(); }
  static std::size_t waiters(Client& client) { return client.inspect("x").value().waiters.size(); }
  static bool queue_reaches(Client& client, std::size_t count) {
    return eventually([&] { return waiters(client) == count; });
  }

 private:
  TempDir folder_;
};

}  // namespace holdfast::contract
