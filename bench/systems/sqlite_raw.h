// SqliteRaw: the least that a lock table on SQLite needs: take a free row and its next token; give it back
// by owner. No expiry that anyone acts upon, nobody is woken.
//
// Thread safety: none. Ends the process if SQLite reports an error.
#pragma once

#include <sqlite3.h>

#include <string>

namespace holdfast::bench {

class SqliteRaw {
 public:
  // Makes the table if it is not there.
  explicit SqliteRaw(const std::string& path);
  ~SqliteRaw();
  SqliteRaw(const SqliteRaw&) = delete;
  SqliteRaw& operator=(const SqliteRaw&) = delete;

  // REQUIRES: make_row(name) was called, by whomever.
  void make_row(const std::string& name);
  bool take(const std::string& name, int number);
  void give(const std::string& name, int number);

 private:
  void execute(const std::string& sql);
  void prepare(const char* sql, sqlite3_stmt** statement);
  // Whether there was a row.
  bool step(sqlite3_stmt* statement, const std::string& name, int number);

  sqlite3* db_ = nullptr;
  sqlite3_stmt* take_ = nullptr;
  sqlite3_stmt* give_ = nullptr;
};

}  // namespace holdfast::bench
