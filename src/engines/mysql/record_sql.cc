#include "engines/mysql/record_sql.h"

#include "base/eternal.h"
#include "sql/mysql/tables.h"

namespace holdfast::internal::mysql {

// Names and values are binary strings: compared byte by byte, without padding.
const table::RecordSql& record_sql() {
  static const Eternal<table::RecordSql> sql = table::RecordSql{
      .read = "SELECT value FROM holdfast_record WHERE name = ?",
      // Not INSERT IGNORE, which would also store what does not fit. One that is there stays, and no row is affected.
      .insert =
          "INSERT INTO holdfast_record(name, full_name, value) VALUES (?, ?, ?)"
          " ON DUPLICATE KEY UPDATE name = name",
      .update = "UPDATE holdfast_record SET value = ? WHERE name = ? AND value = ?",
      .remove = "DELETE FROM holdfast_record WHERE name = ? AND value = ?",
      .list =
          "SELECT name, full_name, value FROM holdfast_record"
          " WHERE LOCATE(?, COALESCE(full_name, name)) = 1",
      .now = std::string("SELECT ") + kNowUs};
  return sql;
}

}  // namespace holdfast::internal::mysql
