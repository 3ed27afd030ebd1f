#include "base/sha256.h"
#include "base/text.h"
#include "holdfast/sql.h"

namespace holdfast::sql {

namespace {

// Bytes as the dialect writes them.
std::string literal(Dialect dialect, const std::string& hex) {
  return dialect == Dialect::mysql ? "X'" + hex + "'" : "'\\x" + hex + "'::bytea";
}

// The number of an advisory lock: the first 64 bits of the hash, as PostgreSQL reads them.
std::string advisory_number(const std::string& hash) {
  return "('x" + hash.substr(0, 16) + "')::bit(64)::bigint";
}

}  // namespace

std::vector<std::string> lock_in_transaction(Dialect dialect, const Name& name,
                                             std::string_view prefix) {
  const std::string whole = std::string(prefix) + name.bytes();
  const bool mysql = dialect == Dialect::mysql;
  const std::string hash = internal::sha256_hex((mysql ? "row:" : "advisory:") + whole);
  const std::string key = literal(dialect, hash);
  const std::string bytes = literal(dialect, to_hex(whole));
  if (!mysql) {
    return {"SELECT pg_advisory_xact_lock(" + advisory_number(hash) + ")",
            "INSERT INTO holdfast_token AS t (lock_key, name, token) VALUES (" + key + ", " +
                bytes +
                ", 1) ON CONFLICT (lock_key) DO UPDATE SET token = t.token + 1 RETURNING token"};
  }
  // The update of nothing locks the row, whether it was there or not.
  return {"INSERT INTO holdfast_rows (lock_key, name) VALUES (" + key + ", " + bytes +
              ") ON DUPLICATE KEY UPDATE lock_key = lock_key",
          "INSERT INTO holdfast_tokens "
          "(lock_key, name, token, lock_name, connection, claim, label, since, ttl_us) VALUES (" +
              key + ", " + bytes +
              ", LAST_INSERT_ID(1), 'hf:transaction', CONNECTION_ID(), REPEAT(X'00', 16), 'a "
              "transaction', "
              "NOW(6), 0) ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(token + 1), "
              "lock_name = VALUES(lock_name), connection = VALUES(connection), "
              "claim = VALUES(claim), label = VALUES(label), since = VALUES(since), ttl_us = 0",
          "SELECT LAST_INSERT_ID()"};
}

std::vector<std::string> admit(Dialect dialect, const Name& resource, Token token) {
  const std::string key = literal(dialect, internal::sha256_hex(resource.bytes()));
  const std::string bytes = literal(dialect, to_hex(resource.bytes()));
  const std::string values = "VALUES (" + key + ", " + bytes + ", " + token.str() + ")";
  if (dialect == Dialect::postgres) {
    return {"INSERT INTO holdfast_fence AS f (resource_key, resource, token) " + values +
            " ON CONFLICT (resource_key) DO UPDATE SET token = GREATEST(f.token, excluded.token)"
            " RETURNING CASE WHEN f.token = " +
            token.str() + " THEN 1 ELSE 0 END"};
  }
  return {"INSERT INTO holdfast_fence (resource_key, resource, token) " + values +
              " ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))",
          "SELECT token = " + token.str() + " FROM holdfast_fence WHERE resource_key = " + key +
              " FOR UPDATE"};
}

std::vector<std::string> tables(Dialect dialect) {
  if (dialect == Dialect::postgres) {
    return {
        "CREATE TABLE IF NOT EXISTS holdfast_token("
        " lock_key bytea PRIMARY KEY, name bytea NOT NULL, token bigint NOT NULL,"
        " claim bytea, session text, xact bigint, label bytea, since timestamptz, ttl_us bigint)"
        " WITH (fillfactor = 50)",
        "CREATE TABLE IF NOT EXISTS holdfast_shared("
        " claim bytea PRIMARY KEY, lock_key bytea NOT NULL, session text NOT NULL,"
        " token bigint NOT NULL, label bytea NOT NULL, since timestamptz NOT NULL,"
        " ttl_us bigint NOT NULL)",
        "CREATE TABLE IF NOT EXISTS holdfast_fence("
        " resource_key bytea PRIMARY KEY, resource bytea NOT NULL, token bigint NOT NULL)"
        " WITH (fillfactor = 50)"};
  }
  return {
      "CREATE TABLE IF NOT EXISTS holdfast_tokens (lock_key BINARY(32) NOT NULL PRIMARY KEY, "
      "name BLOB NOT NULL, token BIGINT UNSIGNED NOT NULL, lock_name VARBINARY(64) NOT NULL, "
      "connection BIGINT UNSIGNED NOT NULL, claim BINARY(16) NOT NULL, "
      "label VARBINARY(255) NOT NULL, since DATETIME(6) NOT NULL, "
      "ttl_us BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS holdfast_rows (lock_key BINARY(32) NOT NULL PRIMARY KEY, "
      "name BLOB NOT NULL) ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS holdfast_fence (resource_key BINARY(32) NOT NULL PRIMARY KEY, "
      "resource BLOB NOT NULL, token BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB"};
}

}  // namespace holdfast::sql
