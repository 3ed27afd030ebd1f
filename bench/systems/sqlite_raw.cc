#include "sqlite_raw.h"

#include <holdfast/time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "data_folder.h"

namespace holdfast::bench {

namespace {

void must(int code, const char* what) {
  if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
    std::fprintf(stderr, "%s: %s\n", what, sqlite3_errstr(code));
    std::exit(1);
  }
}

}  // namespace

SqliteRaw::SqliteRaw(const std::string& path) {
  must(sqlite3_open(path.c_str(), &db_), "open");
  must(sqlite3_busy_timeout(db_, 60'000), "busy_timeout");
  for (const char* sql :
       {"PRAGMA page_size = 1024", "PRAGMA journal_mode = WAL",
        on_disk() ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
        "CREATE TABLE IF NOT EXISTS lock(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, token "
        "INTEGER NOT NULL, owner BLOB, expires INTEGER)"}) {
    execute(sql);
  }
  make_row("pair");
  prepare(
      "UPDATE lock SET owner = ?2, token = token + 1, expires = ?3 WHERE name = ?1 AND owner "
      "IS NULL RETURNING token",
      &take_);
  prepare("UPDATE lock SET owner = NULL WHERE name = ?1 AND owner = ?2", &give_);
}

SqliteRaw::~SqliteRaw() {
  sqlite3_finalize(take_);
  sqlite3_finalize(give_);
  sqlite3_close(db_);
}

// Names are our own.
void SqliteRaw::make_row(const std::string& name) {
  execute("INSERT INTO lock(name, token) VALUES(CAST('" + name +
          "' AS BLOB), 0) ON CONFLICT DO NOTHING");
}

bool SqliteRaw::take(const std::string& name, int number) { return step(take_, name, number); }
void SqliteRaw::give(const std::string& name, int number) { step(give_, name, number); }

void SqliteRaw::execute(const std::string& sql) {
  must(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), sql.c_str());
}

void SqliteRaw::prepare(const char* sql, sqlite3_stmt** statement) {
  must(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, nullptr), sql);
}

bool SqliteRaw::step(sqlite3_stmt* statement, const std::string& name, int number) {
  char owner[16] = {};
  std::memcpy(owner, &number, sizeof number);
  sqlite3_bind_blob(statement, 1, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
  sqlite3_bind_blob(statement, 2, owner, sizeof owner, SQLITE_STATIC);
  if (statement == take_) {
    sqlite3_bind_int64(statement, 3, BootClock::now().time_since_epoch().count());
  }
  bool row = false;
  int code = 0;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) row = true;
  must(code, "step");
  sqlite3_reset(statement);
  return row;
}

}  // namespace holdfast::bench
