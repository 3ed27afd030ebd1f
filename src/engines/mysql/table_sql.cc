#include "engines/mysql/table_sql.h"

#include "base/eternal.h"
#include "engines/mysql/lock_document.h"

namespace holdfast::internal::mysql {

namespace {

// The session's time zone is UTC: in another one an hour comes twice each autumn. NOW is read when the statement
// begins, before it waits for the row: what it calls expired has expired.
#define HOLDFAST_MICROSECONDS "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)"
#define HOLDFAST_CLOCK HOLDFAST_MICROSECONDS " * 1000"

#define HOLDFAST_NUMBER(bytes) "CAST(CONV(HEX(" bytes "), 16, 10) AS SIGNED)"
#define HOLDFAST_BYTES(number) "UNHEX(LPAD(HEX(" number "), 16, '0'))"

// VALUES(since) is now, VALUES(token) the same in microseconds.
#define HOLDFAST_FREE \
  "(owner IS NULL OR expires <= VALUES(since)) AND holders IS NULL AND waiters IS NULL"
// After the owner was assigned, and before `expires` is.
#define HOLDFAST_MINE "owner = VALUES(owner) AND (since = VALUES(since) OR expires > VALUES(since))"
// After `expires` was assigned.
#define HOLDFAST_TAKEN "owner = VALUES(owner) AND expires = VALUES(expires)"

// The queue's first label.
#define HOLDFAST_LABEL_LENGTH HOLDFAST_NUMBER("SUBSTR(labels, 1, 2)")

// The session that has the name of the waiter whose entry begins there. MySQL refuses a name that is NULL.
std::string user_of(std::size_t position) {
  return "IS_USED_LOCK(CONCAT('holdfast:', LOWER(HEX(COALESCE(SUBSTR(waiters, " +
         std::to_string(position) + ", 16), '')))))";
}

// The row's columns, but for those that only `list` has.
std::string columns() {
  std::string text = HOLDFAST_CLOCK
      ", token, version, owner, since, expires, ttl, label, holders, waiters, labels, permits,"
      " sharing_mode, CONCAT(''";
  for (std::size_t i = 0; i < LockDocument::kProbed; ++i) {
    text += ", IF(" + user_of(i * LockDocument::kWaiterBytes + 1) + " IS NULL, '0', '1')";
  }
  return text + ")";
}

TableSql make() {
  const std::string bytes = std::to_string(LockDocument::kWaiterBytes);
  TableSql sql;
  // Assignments are made from left to right, each on what those before it made.
  sql.take_free = "UPDATE holdfast_lock SET since = " HOLDFAST_CLOCK
                  ", token = LAST_INSERT_ID(GREATEST(token + 1, since DIV 1000)), owner = $2,"
                  " expires = since + $3, ttl = $3, label = $4, version = version + 1"
                  " WHERE name = $1 AND owner IS NULL AND holders IS NULL AND waiters IS NULL";
  sql.take =
      "INSERT INTO holdfast_lock(name, full_name, token, version, owner, since, expires, ttl, "
      "label)"
      " VALUES($1, $2, LAST_INSERT_ID(" HOLDFAST_MICROSECONDS
      "), 1, $3, token * 1000, token * 1000 + $4, $4, $5)"
      " ON DUPLICATE KEY UPDATE"
      " token = IF(" HOLDFAST_FREE
      ", GREATEST(token + 1, VALUES(token)), token),"
      " since = IF(" HOLDFAST_FREE
      ", VALUES(since), since),"
      " owner = IF(" HOLDFAST_FREE
      ", VALUES(owner), owner),"
      " expires = IF(" HOLDFAST_MINE
      ", VALUES(expires), expires),"
      " ttl = IF(" HOLDFAST_TAKEN
      ", VALUES(ttl), ttl),"
      " label = IF(" HOLDFAST_TAKEN
      ", VALUES(label), label),"
      // The last value that LAST_INSERT_ID was given is returned.
      " version = version + IF(" HOLDFAST_TAKEN ", SIGN(LAST_INSERT_ID(token)), LAST_INSERT_ID(0))";
  sql.queue =
      "UPDATE holdfast_lock SET labels = CONCAT(COALESCE(labels, ''), $5),"
      " waiters = CONCAT(COALESCE(waiters, ''), $2, $3, " HOLDFAST_BYTES(HOLDFAST_CLOCK)
      ", $4), version = LAST_INSERT_ID(version + 1)"
      " WHERE name = $1 AND owner <> $2 AND expires > " HOLDFAST_CLOCK
      " AND COALESCE(LOCATE($2, waiters), 0) = 0";
  sql.free =
      "UPDATE holdfast_lock SET owner = NULL, version = version + 1"
      " WHERE name = $1 AND owner = $2 AND waiters IS NULL";
  sql.pass_on =
      "UPDATE holdfast_lock SET since = " HOLDFAST_CLOCK
      ", token = GREATEST(token + 1, since DIV 1000),"
      " ttl = LEAST($3, " HOLDFAST_NUMBER("SUBSTR(waiters, 17, 8)")
      "), expires = since + ttl, label = SUBSTR(labels, 3, " HOLDFAST_LABEL_LENGTH
      "), labels = NULLIF(SUBSTR(labels, 3 + " HOLDFAST_LABEL_LENGTH
      "), ''), owner = SUBSTR(waiters, 1, 16), waiters = NULLIF(SUBSTR(waiters, 1 + " + bytes +
      "), ''), version = version + 1 WHERE name = $1 AND owner = $2"
      " AND SUBSTR(waiters, " + bytes + ", 1) = X'00' AND " + user_of(1) + " IS NOT NULL";
  sql.make =
      "INSERT INTO holdfast_lock(name, full_name, token, version) VALUES($1, $2, 0, 0)"
      " ON DUPLICATE KEY UPDATE version = version";
  const std::string kinds = "NNNbnnnbbbbNNb";  // of Columns
  sql.find.text = "SELECT " + columns() + " FROM holdfast_lock WHERE name = $1";
  sql.find.answer = row_if_any(kinds);
  sql.list.text = "SELECT " + columns() +
                  ", name, full_name FROM holdfast_lock"
                  " WHERE owner IS NOT NULL OR holders IS NOT NULL OR waiters IS NOT NULL";
  sql.list.answer = rows_of(kinds + "Bb");
  sql.write =
      "UPDATE holdfast_lock SET token = $4, owner = $5, since = $6, expires = $7, ttl = $8,"
      " label = $9, holders = $10, waiters = $11, labels = $12, permits = $13, sharing_mode = $14,"
      " version = LAST_INSERT_ID(version + 1) WHERE name = $1 AND version = $2 AND token = $3";
  // Entry: claim 16, token 8, expires 8, ttl 8.
  const std::string at = "LOCATE($2, COALESCE(holders, ''))";
  sql.renew_holder = "UPDATE holdfast_lock SET holders = INSERT(holders, " + at +
                     " + 24, 16, CONCAT(" + HOLDFAST_BYTES(HOLDFAST_CLOCK " + $4") +
                     ", $3)), version = version + 1" + " WHERE name = $1 AND " + at +
                     " > 0 AND SUBSTR(holders, " + at + " + 16, 8) = $5 AND SUBSTR(holders, " + at +
                     " + 24, 8) > " + HOLDFAST_BYTES(HOLDFAST_CLOCK);
  sql.look.text =
      "SELECT " HOLDFAST_CLOCK
      ", owner, expires, ttl, token, label, holders, (NULLIF(LOCATE($2, waiters), 0) - 1)"
      " DIV " +
      bytes + ", LENGTH(waiters) DIV " + bytes +
      ", IF(LOCATE($2, waiters) > 1, SUBSTR(waiters, LOCATE($2, waiters) - " + bytes +
      ", 16), COALESCE(owner, SUBSTR(holders, 1, 16)))";
  sql.look_and_name.text = sql.look.text + ", " + take_name_sql("$3");
  for (Question* each : {&sql.look, &sql.look_and_name}) {
    each->text += " FROM holdfast_lock WHERE name = $1";
    each->answer = row_if_any("NbnnNbbnnb");  // Looked
  }
  sql.look_and_name.answer.columns += 'n';
  sql.give_name = "SELECT IF(ROW_COUNT() > 0, RELEASE_LOCK($1), 0)";
  return sql;
}

std::string list_of(std::size_t count) {
  std::string text = "(?";
  for (std::size_t i = 1; i < count; ++i) text += ",?";
  return text + ")";
}

}  // namespace

const TableSql& table_sql() {
  static const Eternal<TableSql> sql = make();
  return sql;
}

SqlStatement renew_owners(std::span<const Renewal> renewals, std::int64_t ttl) {
  const std::string these = list_of(renewals.size());
  // A claim's id is no other's, so the three lists match only where all three belong together.
  SqlStatement statement{
      "UPDATE holdfast_lock SET ttl = ?, expires = " HOLDFAST_CLOCK
      " + ?, version = version + 1 + IF(waiters IS NULL, 0, 0 * LAST_INSERT_ID(1))"
      " WHERE name IN " +
          these + " AND owner IN " + these + " AND token IN " + these +
          " AND expires > " HOLDFAST_CLOCK,
      {ttl, ttl}};
  for (const Renewal& each : renewals) statement.values.emplace_back(each.key);
  for (const Renewal& each : renewals) statement.values.push_back(each.claim);
  for (const Renewal& each : renewals) statement.values.emplace_back(each.token);
  return statement;
}

SqlStatement awaited_owners(std::span<const Renewal> renewals) {
  SqlStatement statement{"SELECT owner FROM holdfast_lock WHERE name IN " +
                             list_of(renewals.size()) +
                             " AND owner IS NOT NULL AND waiters IS NOT NULL",
                         {}};
  for (const Renewal& each : renewals) statement.values.emplace_back(each.key);
  return statement;
}

SqlStatement held_owners(std::span<const Renewal> renewals) {
  SqlStatement statement{"SELECT owner, token FROM holdfast_lock WHERE name IN " +
                             list_of(renewals.size()) +
                             " AND owner IS NOT NULL AND expires > " HOLDFAST_CLOCK,
                         {}};
  for (const Renewal& each : renewals) statement.values.emplace_back(each.key);
  statement.answer = rows_of("B");
  return statement;
}

std::string name_of(const ClaimId& claim) { return "holdfast:" + claim.hex(); }

std::string take_name_sql(const std::string& name) {
  return "IF(COALESCE(IS_USED_LOCK(" + name + "), 0) = CONNECTION_ID(), 1, GET_LOCK(" + name +
         ", 0))";
}

SqlStatement in_order(const std::string& text, const std::vector<SqlValue>& values) {
  SqlStatement plain;
  plain.text.reserve(text.size());
  plain.values.reserve(values.size());
  std::size_t from = 0;
  for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', from)) {
    plain.text.append(text, from, at - from) += '?';
    std::size_t number = 0;
    from = at + 1;
    for (; from < text.size() && text[from] >= '0' && text[from] <= '9'; ++from) {
      number = number * 10 + static_cast<std::size_t>(text[from] - '0');
    }
    plain.values.push_back(values.at(number - 1));
  }
  plain.text.append(text, from);
  return plain;
}

SqlStatement in_order(const Question& question, const std::vector<SqlValue>& values) {
  SqlStatement plain = in_order(question.text, values);
  plain.answer = question.answer;
  return plain;
}

}  // namespace holdfast::internal::mysql
