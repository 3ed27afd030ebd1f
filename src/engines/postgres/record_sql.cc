#include "engines/postgres/record_sql.h"

#include "base/eternal.h"
#include "sql/postgres/tables.h"

namespace holdfast::internal::postgres {

const table::RecordSql& record_sql() {
  static const Eternal<table::RecordSql> sql = table::RecordSql{
      .read = "SELECT value FROM holdfast_record WHERE name = $1::bytea",
      .insert =
          "INSERT INTO holdfast_record(name, full_name, value)"
          " VALUES ($1::bytea, $2::bytea, $3::bytea) ON CONFLICT (name) DO NOTHING",
      .update =
          "UPDATE holdfast_record SET value = $1::bytea"
          " WHERE name = $2::bytea AND value = $3::bytea",
      .remove = "DELETE FROM holdfast_record WHERE name = $1::bytea AND value = $2::bytea",
      .list =
          "SELECT name, full_name, value FROM holdfast_record"
          " WHERE position($1::bytea IN coalesce(full_name, name)) = 1",
      .now = std::string("SELECT ") + kNowUs};
  return sql;
}

}  // namespace holdfast::internal::postgres
