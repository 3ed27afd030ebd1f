// All tables that Holdfast makes in MySQL and MariaDB, each defined once. Needs no client library.
#pragma once

namespace holdfast::internal::mysql {

// recipe=table; see engines/mysql/table_sql.h.
inline constexpr const char* kLockTable =
    "CREATE TABLE IF NOT EXISTS holdfast_lock("
    " name VARBINARY(255) NOT NULL PRIMARY KEY, full_name MEDIUMBLOB, token BIGINT NOT NULL,"
    " version BIGINT NOT NULL, owner VARBINARY(16), since BIGINT, expires BIGINT, ttl BIGINT,"
    " label BLOB, holders MEDIUMBLOB, waiters MEDIUMBLOB, labels MEDIUMBLOB,"
    " permits BIGINT NOT NULL DEFAULT 0, sharing_mode SMALLINT NOT NULL DEFAULT 0)"
    " ENGINE=InnoDB";

// ---- Records ------------------------------------------------------------------------------------

inline constexpr const char* kRecordTable =
    "CREATE TABLE IF NOT EXISTS holdfast_record("
    " name VARBINARY(255) NOT NULL PRIMARY KEY, full_name MEDIUMBLOB, value BLOB NOT NULL)"
    " ENGINE=InnoDB";

// ---- Recipes that live in a session, and sql::lock_in_transaction() ------------------------------

inline constexpr const char* kTokensTable =
    "CREATE TABLE IF NOT EXISTS holdfast_tokens (\n"
    "  lock_key BINARY(32) NOT NULL PRIMARY KEY,\n"
    "  name BLOB NOT NULL,\n"
    "  token BIGINT UNSIGNED NOT NULL,\n"
    "  lock_name VARBINARY(64) NOT NULL,\n"
    "  connection BIGINT UNSIGNED NOT NULL,\n"
    "  claim BINARY(16) NOT NULL,\n"
    "  label VARBINARY(255) NOT NULL,\n"
    "  since DATETIME(6) NOT NULL,\n"
    "  ttl_us BIGINT UNSIGNED NOT NULL\n"
    ") ENGINE=InnoDB";
inline constexpr const char* kRowsTable =
    "CREATE TABLE IF NOT EXISTS holdfast_rows (\n"
    "  lock_key BINARY(32) NOT NULL PRIMARY KEY,\n"
    "  name BLOB NOT NULL\n"
    ") ENGINE=InnoDB";

// ---- Fences: sql::admit() ------------------------------------------------------------------------

inline constexpr const char* kFenceTable =
    "CREATE TABLE IF NOT EXISTS holdfast_fence (\n"
    "  resource_key BINARY(32) NOT NULL PRIMARY KEY,\n"
    "  resource BLOB NOT NULL,\n"
    "  token BIGINT UNSIGNED NOT NULL\n"
    ") ENGINE=InnoDB";
inline constexpr const char* kFenceWriterTable =
    "CREATE TABLE IF NOT EXISTS holdfast_fence_writer (\n"
    "  resource_key BINARY(32) NOT NULL PRIMARY KEY,\n"
    "  writer BIGINT UNSIGNED NOT NULL,\n"
    "  newest BIGINT UNSIGNED NOT NULL\n"
    ") ENGINE=InnoDB";

// The server's clock in microseconds since 1970; see the same in sql/postgres/tables.h.
inline constexpr const char* kNowUs = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

}  // namespace holdfast::internal::mysql
