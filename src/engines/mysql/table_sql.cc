#include "engines/mysql/table_sql.h"

namespace holdfast::internal::mysql {

namespace {

// The session's time zone is UTC: in another one an hour comes twice each autumn.
#define HOLDFAST_CLOCK "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) * 1000"

#define HOLDFAST_WAITER_COLUMNS \
  "w.seq, w.claim, w.mode, w.permits, w.ttl, w.process, w.outlives, w.since, w.label"

#define HOLDFAST_LOCK_COLUMNS \
  "token, owner, since, expires, ttl, label, waiting, sharing, sharing_mode, permits"

// Who waits keeps this name for as long as it listens; whose it is, is the connection to wake.
#define HOLDFAST_LISTENER "IS_USED_LOCK(CONCAT('holdfast:wake:', w.process))"

// It is the claim's already.
#define HOLDFAST_MINE "(owner = VALUES(owner) AND expires > VALUES(since))"

table::Dialect make() {
  table::Dialect sql;
  // taker: scratch for `take`, whose assignments are made one after the other.
  sql.schema = {
      "CREATE TABLE IF NOT EXISTS holdfast_lock("
      " name VARBINARY(255) NOT NULL PRIMARY KEY, full_name MEDIUMBLOB, token BIGINT NOT NULL,"
      " taker VARBINARY(16), owner VARBINARY(16), since BIGINT, expires BIGINT, ttl BIGINT,"
      " label BLOB, waiting BIGINT NOT NULL DEFAULT 0, sharing BIGINT NOT NULL DEFAULT 0,"
      " sharing_mode SMALLINT NOT NULL DEFAULT 0, permits BIGINT NOT NULL DEFAULT 0) ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS holdfast_holder("
      " name VARBINARY(255) NOT NULL, claim VARBINARY(16) NOT NULL, token BIGINT NOT NULL,"
      " since BIGINT NOT NULL, expires BIGINT NOT NULL, ttl BIGINT NOT NULL, label BLOB,"
      " PRIMARY KEY(name, claim)) ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS holdfast_waiter("
      " name VARBINARY(255) NOT NULL, seq BIGINT NOT NULL AUTO_INCREMENT,"
      " claim VARBINARY(16) NOT NULL, mode SMALLINT NOT NULL, permits BIGINT NOT NULL,"
      " ttl BIGINT NOT NULL, process BIGINT NOT NULL, outlives SMALLINT NOT NULL,"
      " since BIGINT NOT NULL, label BLOB,"
      " PRIMARY KEY(name, seq), KEY(seq), KEY(process)) ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS holdfast_bell("
      " process BIGINT NOT NULL PRIMARY KEY, rung BIGINT NOT NULL) ENGINE=InnoDB",
  };
  sql.begin = "START TRANSACTION";
  sql.begin_reading = {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                       "START TRANSACTION WITH CONSISTENT SNAPSHOT"};
  sql.commit = "COMMIT";
  sql.rollback = "ROLLBACK";
  // VALUES(since) is now.
  sql.take = {
      "INSERT INTO holdfast_lock(name, full_name, token, owner, since, expires, ttl, label)"
      " VALUES($1, $2, 1, $3, " HOLDFAST_CLOCK ", " HOLDFAST_CLOCK
      " + $4, $4, $5)"
      " ON DUPLICATE KEY UPDATE"
      " taker = IF((waiting = 0 AND sharing = 0 AND (owner IS NULL OR expires <= VALUES(since)))"
      " OR " HOLDFAST_MINE
      ", VALUES(owner), NULL),"
      " token = IF(taker IS NULL, token, LAST_INSERT_ID(token + IF(" HOLDFAST_MINE
      ", 0, 1))),"
      " since = IF(taker IS NULL OR " HOLDFAST_MINE
      ", since, VALUES(since)),"
      " ttl = IF(taker IS NULL, ttl, VALUES(ttl)),"
      " label = IF(taker IS NULL, label, VALUES(label)),"
      " owner = IF(taker IS NULL, owner, taker),"
      " expires = IF(taker IS NULL, expires, VALUES(expires))"};
  sql.token_is_id = true;
  sql.free = "UPDATE holdfast_lock SET owner = NULL WHERE name = $1 AND owner = $2 AND waiting = 0";
  // Not IGNORE, which would lock the row shared first, and deadlock when two want it alone.
  sql.make =
      "INSERT INTO holdfast_lock(name, full_name, token) VALUES($1, $2, 0)"
      " ON DUPLICATE KEY UPDATE token = token";
  sql.find = "SELECT " HOLDFAST_LOCK_COLUMNS " FROM holdfast_lock WHERE name = $1";
  sql.lock = sql.find + " FOR UPDATE";
  sql.holders =
      "SELECT claim, token, since, expires, ttl, label FROM holdfast_holder WHERE name = $1"
      " ORDER BY token";
  sql.line =
      "SELECT c.clock, o.seq, (SELECT COUNT(*) FROM holdfast_waiter b WHERE b.name = $1"
      " AND b.seq < o.seq), " HOLDFAST_WAITER_COLUMNS ", COALESCE(" HOLDFAST_LISTENER
      ", 0)"
      " FROM (SELECT " HOLDFAST_CLOCK
      " AS clock) c"
      " LEFT JOIN (SELECT seq FROM holdfast_waiter WHERE name = $1 AND claim = $2 LIMIT 1) o"
      " ON TRUE"
      " LEFT JOIN (SELECT * FROM holdfast_waiter WHERE name = $1 ORDER BY seq LIMIT $3) w ON TRUE"
      " ORDER BY w.seq";
  sql.save =
      "UPDATE holdfast_lock SET token = $2, owner = $3, since = $4, expires = $5, ttl = $6,"
      " label = $7, waiting = $8, sharing = $9, sharing_mode = $10, permits = $11 WHERE name = $1";
  sql.add_holder =
      "INSERT INTO holdfast_holder(name, claim, token, since, expires, ttl, label)"
      " VALUES($1, $2, $3, $4, $5, $6, $7)";
  sql.remove_holder = "DELETE FROM holdfast_holder WHERE name = $1 AND claim = $2";
  sql.set_expiry =
      "UPDATE holdfast_holder SET expires = $3, ttl = $4 WHERE name = $1 AND claim = $2";
  sql.add_waiter =
      "INSERT INTO holdfast_waiter(name, claim, mode, permits, ttl, process, outlives, since, "
      "label)"
      " VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9)";
  sql.remove_waiter = "DELETE FROM holdfast_waiter WHERE name = $1 AND seq = $2";
  sql.renew_owner = "UPDATE holdfast_lock SET ttl = $3, expires = " HOLDFAST_CLOCK
                    " + $3 WHERE name = $1 AND owner = $2 AND token = $4"
                    " AND expires > " HOLDFAST_CLOCK;
  sql.renew_holder = "UPDATE holdfast_holder SET ttl = $3, expires = " HOLDFAST_CLOCK
                     " + $3 WHERE name = $1 AND claim = $2 AND token = $4"
                     " AND expires > " HOLDFAST_CLOCK;
  sql.look = "SELECT " HOLDFAST_CLOCK
             ", l.owner, l.expires,"
             " (SELECT MIN(h.expires) FROM holdfast_holder h WHERE h.name = l.name), w.seq,"
             " (SELECT COUNT(*) FROM holdfast_waiter b WHERE b.name = l.name"
             " AND b.seq < COALESCE(w.seq, 9223372036854775807)),"
             " l.token, l.label, (l.owner IS NOT NULL AND l.expires > " HOLDFAST_CLOCK
             " + l.ttl) OR EXISTS (SELECT 1 FROM holdfast_holder h WHERE h.name = l.name"
             " AND h.expires > " HOLDFAST_CLOCK
             " + h.ttl)"
             " FROM holdfast_lock l LEFT JOIN holdfast_waiter w"
             " ON w.name = l.name AND w.claim = $2 WHERE l.name = $1";
  sql.names =
      "SELECT name, full_name FROM holdfast_lock"
      " WHERE owner IS NOT NULL OR waiting > 0 OR sharing > 0";
  // Variables carry what a statement found to the next; the time is read when the row is ours.
  const std::string hold = "SELECT 1 FROM holdfast_lock WHERE name = $1 FOR UPDATE";
  sql.hand_over.statements = {
      "SET @hf_seq = NULL, @hf_mode = NULL, @hf_session = NULL", sql.begin, hold,
      "SELECT w.seq, w.claim, w.mode, w.process, LEAST(w.ttl, $3), w.label, " HOLDFAST_LISTENER
      ", " HOLDFAST_CLOCK
      " INTO @hf_seq, @hf_claim, @hf_mode, @hf_process, @hf_ttl, @hf_label, @hf_session, @hf_now"
      " FROM holdfast_waiter w WHERE w.name = $1 ORDER BY w.seq LIMIT 1",
      "UPDATE holdfast_lock SET token = token + 1, owner = @hf_claim, since = @hf_now,"
      " expires = @hf_now + @hf_ttl, ttl = @hf_ttl, label = @hf_label, waiting = waiting - 1"
      " WHERE name = $1 AND owner = $2 AND sharing = 0 AND @hf_mode = 0 AND @hf_session > 0",
      "SET @hf_given = ROW_COUNT()",
      "DELETE FROM holdfast_waiter WHERE name = $1 AND seq = @hf_seq AND @hf_given = 1",
      "SELECT @hf_process, @hf_claim, token, @hf_ttl FROM holdfast_lock"
      " WHERE name = $1 AND @hf_given = 1",
      sql.free, ring_bell_of("@hf_process") + " AND @hf_given = 1 AND @hf_process <> $4",
      "SET @hf_ring = IF(ROW_COUNT() = 1, @hf_session, 0)", sql.commit,
      // Where there is nobody to wake, it fails, and that does no harm.
      "KILL QUERY @hf_ring"};
  sql.hand_over.answer = 7;
  sql.freed = 8;
  sql.hand_over.last = 11;
  sql.enqueue.statements = {
      sql.begin,
      hold,
      "INSERT INTO holdfast_waiter"
      "(name, claim, mode, permits, ttl, process, outlives, since, label)"
      " SELECT $1, $2, $3, $4, $5, $6, $7, " HOLDFAST_CLOCK
      ", $8 FROM holdfast_lock l WHERE l.name = $1 AND l.owner <> $2"
      " AND l.expires > " HOLDFAST_CLOCK " AND l.expires <= " HOLDFAST_CLOCK
      " + l.ttl AND NOT EXISTS"
      " (SELECT 1 FROM holdfast_waiter w WHERE w.name = $1 AND w.claim = $2)",
      "SET @hf_added = ROW_COUNT()",
      "UPDATE holdfast_lock SET waiting = waiting + 1 WHERE name = $1 AND @hf_added = 1",
      "SELECT token, label, expires - " HOLDFAST_CLOCK
      ", waiting - 1 FROM holdfast_lock WHERE name = $1 AND @hf_added = 1",
      sql.commit};
  sql.enqueue.answer = 5;
  sql.enqueue.last = 6;
  sql.move_waiters = "UPDATE holdfast_waiter SET process = $1 WHERE process = $2";
  sql.clean = {"DELETE FROM holdfast_holder WHERE expires < " HOLDFAST_CLOCK " - $1",
               "DELETE FROM holdfast_waiter WHERE since < " HOLDFAST_CLOCK
               " - $1 AND IS_USED_LOCK(CONCAT('holdfast:wake:', process)) IS NULL",
               "DELETE FROM holdfast_bell"
               " WHERE IS_USED_LOCK(CONCAT('holdfast:wake:', process)) IS NULL"};
  return sql;
}

}  // namespace

std::string ring_bell_of(const std::string& process) {
  // A bell that has rung for a second may be rung again: who did may have died before its KILL.
  const std::string clock = "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)";
  return "UPDATE holdfast_bell SET rung = " + clock + " WHERE process = " + process +
         " AND rung < " + clock + " - 1000000";
}

const table::Dialect& table_sql() {
  static const table::Dialect sql = make();
  return sql;
}

SqlStatement in_order(const SqlStatement& numbered) {
  SqlStatement plain;
  plain.text.reserve(numbered.text.size());
  const std::string& text = numbered.text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      plain.text += text[i];
      continue;
    }
    std::size_t number = 0;
    while (i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9') {
      number = number * 10 + static_cast<std::size_t>(text[++i] - '0');
    }
    plain.text += '?';
    plain.values.push_back(numbered.values.at(number - 1));
  }
  return plain;
}

}  // namespace holdfast::internal::mysql
