#include "base/sha256.h"
#include "base/text.h"
#include "fence/mark.h"
#include "holdfast/sql.h"
#include "sql/mysql/tables.h"
#include "sql/postgres/tables.h"
#include "sql/session_key.h"

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
  const std::string hash = internal::session_key_hex(mysql ? "row" : "advisory", whole);
  const std::string key = literal(dialect, hash);
  const std::string bytes = literal(dialect, to_hex(whole));
  if (!mysql) {
    const std::string now = internal::postgres::kNowUs;
    return {"SELECT pg_advisory_xact_lock(" + advisory_number(hash) + ")",
            "INSERT INTO holdfast_token AS t (lock_key, name, token) VALUES (" + key + ", " +
                bytes + ", " + now +
                ") ON CONFLICT (lock_key) DO UPDATE SET token = GREATEST(t.token + 1, " + now +
                ") RETURNING token"};
  }
  const std::string now = internal::mysql::kNowUs;
  // The update of nothing locks the row, whether it was there or not. Of the row of the token only the
  // token changes: the rest tells of the last lease, which may still be believed in.
  return {"INSERT INTO holdfast_rows (lock_key, name) VALUES (" + key + ", " + bytes +
              ") ON DUPLICATE KEY UPDATE lock_key = lock_key",
          "INSERT INTO holdfast_tokens "
          "(lock_key, name, token, lock_name, connection, claim, label, since, ttl_us) VALUES (" +
              key + ", " + bytes + ", LAST_INSERT_ID(" + now +
              "), 'hf:transaction', CONNECTION_ID(), REPEAT(X'00', 16), 'a transaction', "
              "UTC_TIMESTAMP(6), 0) ON DUPLICATE KEY UPDATE "
              "token = LAST_INSERT_ID(GREATEST(token + 1, " +
              now + "))",
          "SELECT LAST_INSERT_ID()"};
}

namespace {

// `newest` in holdfast_fence, `writer` in holdfast_fence_writer: see fence/mark_store.h. The first
// statement locks the resource's row of holdfast_fence until the transaction ends, and everything
// else happens under that lock. A refused ticket leaves both numbers as they are, also in a
// transaction that is committed.
struct Admission {
  std::string key;
  std::string resource;
  std::string token;

  // A token that raises `newest` makes the old row of holdfast_fence_writer void. One that equals
  // it may have been shown as shared before.
  std::vector<std::string> exclusive_in_postgres() const {
    return {"INSERT INTO holdfast_fence AS f (resource_key, resource, token) VALUES (" + key +
                ", " + resource + ", " + token +
                ") ON CONFLICT (resource_key) DO UPDATE"
                " SET token = GREATEST(f.token, excluded.token)",
            "UPDATE holdfast_fence_writer SET writer = newest WHERE resource_key = " + key +
                " AND newest = " + token + " AND writer < newest",
            "SELECT CASE WHEN token = " + token +
                " THEN 1 ELSE 0 END FROM holdfast_fence WHERE resource_key = " + key};
  }

  std::vector<std::string> shared_in_postgres() const {
    return {"INSERT INTO holdfast_fence AS f (resource_key, resource, token) VALUES (" + key +
                ", " + resource + ", 0) ON CONFLICT (resource_key) DO UPDATE SET token = f.token",
            "INSERT INTO holdfast_fence_writer AS w (resource_key, writer, newest)"
            " SELECT resource_key, token, GREATEST(token, " +
                token + ") FROM holdfast_fence WHERE resource_key = " + key +
                " ON CONFLICT (resource_key) DO UPDATE SET writer ="
                " CASE WHEN w.newest = excluded.writer THEN w.writer ELSE excluded.writer END,"
                " newest = excluded.newest",
            "UPDATE holdfast_fence SET token = " + token + " WHERE resource_key = " + key +
                " AND token < " + token,
            "SELECT CASE WHEN writer <= " + token +
                " THEN 1 ELSE 0 END FROM holdfast_fence_writer WHERE resource_key = " + key};
  }

  // Inserted rather than updated if need be: an update of a row that is not there would lock the
  // gap, and with it the rows of other resources that are yet to come.
  std::vector<std::string> exclusive_in_mysql() const {
    return {"INSERT INTO holdfast_fence (resource_key, resource, token) VALUES (" + key + ", " +
                resource + ", " + token +
                ") ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))",
            "INSERT INTO holdfast_fence_writer (resource_key, writer, newest) VALUES (" + key +
                ", " + token + ", " + token +
                ") ON DUPLICATE KEY UPDATE writer = IF(newest = VALUES(newest), newest, writer)",
            "SELECT token = " + token + " FROM holdfast_fence WHERE resource_key = " + key +
                " FOR UPDATE"};
  }

  std::vector<std::string> shared_in_mysql() const {
    return {"INSERT INTO holdfast_fence (resource_key, resource, token) VALUES (" + key + ", " +
                resource + ", 0) ON DUPLICATE KEY UPDATE token = token",
            // Reads the newest version of the row, whatever the isolation level: it is locked.
            "INSERT INTO holdfast_fence_writer (resource_key, writer, newest)"
            " SELECT resource_key, token, GREATEST(token, " +
                token + ") FROM holdfast_fence WHERE resource_key = " + key +
                " FOR UPDATE ON DUPLICATE KEY UPDATE"
                " writer = IF(newest = VALUES(writer), writer, VALUES(writer)),"
                " newest = VALUES(newest)",
            "UPDATE holdfast_fence SET token = " + token + " WHERE resource_key = " + key +
                " AND token < " + token,
            "SELECT writer <= " + token +
                " FROM holdfast_fence_writer WHERE resource_key = " + key + " FOR UPDATE"};
  }
};

}  // namespace

std::vector<std::string> admit(Dialect dialect, const Name& resource, const Ticket& ticket) {
  if (const auto problem = internal::fence::problem_with(ticket)) throw LockError(*problem);
  const Admission admission{
      .key = literal(dialect, internal::sha256_hex(resource.bytes())),
      .resource = literal(dialect, to_hex(resource.bytes())),
      .token = ticket.token.str(),
  };
  const bool shared = ticket.mode == Mode::shared;
  if (dialect == Dialect::postgres) {
    return shared ? admission.shared_in_postgres() : admission.exclusive_in_postgres();
  }
  return shared ? admission.shared_in_mysql() : admission.exclusive_in_mysql();
}

std::vector<std::string> tables(Dialect dialect) {
  namespace mysql = internal::mysql;
  namespace postgres = internal::postgres;
  if (dialect == Dialect::mysql) {
    return {mysql::kTokensTable, mysql::kRowsTable, mysql::kFenceTable, mysql::kFenceWriterTable};
  }
  return {postgres::kTokenTable, postgres::kSharedTable, postgres::kFenceTable,
          postgres::kFenceWriterTable};
}

}  // namespace holdfast::sql
