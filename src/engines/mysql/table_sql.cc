#include "engines/mysql/table_sql.h"

#include <map>

#include "base/eternal.h"

namespace holdfast::internal::mysql {

namespace {

// The session's time zone is UTC: in another one an hour comes twice each autumn.
#define HOLDFAST_MICROSECONDS "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)"
#define HOLDFAST_CLOCK HOLDFAST_MICROSECONDS " * 1000"

#define HOLDFAST_WAITER_COLUMNS \
  "w.seq, w.claim, w.mode, w.permits, w.ttl, w.process, w.outlives, w.since, w.label"

#define HOLDFAST_LOCK_COLUMNS \
  "token, owner, since, expires, ttl, label, waiting, sharing, sharing_mode, permits"

// A waiting client holds this name while it listens; the connection that holds it is the one to wake. (MySQL
// refuses a name that is NULL.)
#define HOLDFAST_LISTENER "IS_USED_LOCK(CONCAT('holdfast:wake:', COALESCE(w.process, 0)))"

// It is the claim's already.
#define HOLDFAST_MINE "(owner = VALUES(owner) AND expires > VALUES(since))"

constexpr const char* kBegin = "START TRANSACTION";

table::Dialect make() {
  table::Dialect sql;
  // taker: scratch for `take`, whose assignments are made one after the other. line: the last place in
  // the queue that was given to anybody. head: the first that somebody may have, if nobody left; where
  // nobody has it, it takes a turn, which finds it anew. Waiters with a mode below zero have been
  // granted the lock and do not wait any more.
  sql.schema = {
      "CREATE TABLE IF NOT EXISTS holdfast_lock("
      " name VARBINARY(255) NOT NULL PRIMARY KEY, full_name MEDIUMBLOB, token BIGINT NOT NULL,"
      " taker VARBINARY(16), owner VARBINARY(16), since BIGINT, expires BIGINT, ttl BIGINT,"
      " label BLOB, waiting BIGINT NOT NULL DEFAULT 0, sharing BIGINT NOT NULL DEFAULT 0,"
      " sharing_mode SMALLINT NOT NULL DEFAULT 0, permits BIGINT NOT NULL DEFAULT 0,"
      " line BIGINT NOT NULL DEFAULT 0, head BIGINT NOT NULL DEFAULT 1) ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS holdfast_holder("
      " name VARBINARY(255) NOT NULL, claim VARBINARY(16) NOT NULL, token BIGINT NOT NULL,"
      " since BIGINT NOT NULL, expires BIGINT NOT NULL, ttl BIGINT NOT NULL, label BLOB,"
      " PRIMARY KEY(name, claim)) ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS holdfast_waiter("
      " name VARBINARY(255) NOT NULL, seq BIGINT NOT NULL,"
      " claim VARBINARY(16) NOT NULL, mode SMALLINT NOT NULL, permits BIGINT NOT NULL,"
      " ttl BIGINT NOT NULL, process BIGINT NOT NULL, outlives SMALLINT NOT NULL,"
      " since BIGINT NOT NULL, label BLOB,"
      " PRIMARY KEY(name, seq), KEY(process), KEY(claim)) ENGINE=InnoDB",
  };
  sql.begin = kBegin;
  sql.begin_reading = {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                       sql.begin + " WITH CONSISTENT SNAPSHOT"};
  sql.commit = "COMMIT";
  sql.rollback = "ROLLBACK";
  // VALUES(since) is now, VALUES(token) the same in microseconds. The last value that LAST_INSERT_ID was
  // given is returned: the token, or 0 if it was not taken.
  sql.take = {
      "INSERT INTO holdfast_lock(name, full_name, token, owner, since, expires, ttl, label)"
      " VALUES($1, $2, LAST_INSERT_ID(" HOLDFAST_MICROSECONDS
      "), $3, token * 1000, token * 1000 + $4, $4, $5)"
      " ON DUPLICATE KEY UPDATE"
      " taker = IF((waiting = 0 AND sharing = 0 AND (owner IS NULL OR expires <= VALUES(since)))"
      " OR " HOLDFAST_MINE
      ", VALUES(owner), NULL),"
      " token = IF(taker IS NULL, token + LAST_INSERT_ID(0), LAST_INSERT_ID(IF(" HOLDFAST_MINE
      ", token, GREATEST(token + 1, VALUES(token))))),"
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
      " AND b.mode >= 0 AND b.seq < o.seq), " HOLDFAST_WAITER_COLUMNS
      ", COALESCE(" HOLDFAST_LISTENER
      ", 0)"
      " FROM (SELECT " HOLDFAST_CLOCK
      " AS clock) c"
      " LEFT JOIN (SELECT seq FROM holdfast_waiter WHERE name = $1 AND claim = $2"
      " AND mode >= 0 LIMIT 1) o ON TRUE"
      " LEFT JOIN (SELECT * FROM holdfast_waiter WHERE name = $1 AND mode >= 0"
      " ORDER BY seq LIMIT $3) w ON TRUE"
      " ORDER BY w.seq";
  sql.save =
      "UPDATE holdfast_lock SET token = $2, owner = $3, since = $4, expires = $5, ttl = $6,"
      " label = $7, waiting = $8, sharing = $9, sharing_mode = $10, permits = $11,"
      " line = GREATEST(line, COALESCE((SELECT MAX(seq) FROM holdfast_waiter WHERE name = $1), 0)),"
      " head = COALESCE((SELECT MIN(seq) FROM holdfast_waiter WHERE name = $1 AND mode >= 0),"
      " line + 1) WHERE name = $1";
  sql.add_holder =
      "INSERT INTO holdfast_holder(name, claim, token, since, expires, ttl, label)"
      " VALUES($1, $2, $3, $4, $5, $6, $7)";
  sql.remove_holder = "DELETE FROM holdfast_holder WHERE name = $1 AND claim = $2";
  sql.set_expiry =
      "UPDATE holdfast_holder SET expires = $3, ttl = $4 WHERE name = $1 AND claim = $2";
  sql.add_waiter =
      "INSERT INTO holdfast_waiter"
      "(name, seq, claim, mode, permits, ttl, process, outlives, since, label)"
      " SELECT $1, line + 1, $2, $3, $4, $5, $6, $7, $8, $9 FROM holdfast_lock WHERE name = $1";
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
             " AND b.mode >= 0 AND b.seq < COALESCE(w.seq, 9223372036854775807)),"
             " l.token, l.label, (l.owner IS NOT NULL AND l.expires > " HOLDFAST_CLOCK
             " + l.ttl) OR EXISTS (SELECT 1 FROM holdfast_holder h WHERE h.name = l.name"
             " AND h.expires > " HOLDFAST_CLOCK
             " + h.ttl)"
             " FROM holdfast_lock l LEFT JOIN holdfast_waiter w"
             " ON w.name = l.name AND w.claim = $2 AND w.mode >= 0 WHERE l.name = $1";
  sql.names =
      "SELECT name, full_name FROM holdfast_lock"
      " WHERE owner IS NOT NULL OR waiting > 0 OR sharing > 0";
  // All that it reads it also writes, so nothing of it can be older than the row of the lock, which
  // comes first. No table's new values depend on another's that changes. Who of the own process is
  // next is told without the server.
  sql.pass_on.statements = {
      "UPDATE holdfast_lock l STRAIGHT_JOIN holdfast_waiter w ON w.name = l.name AND w.seq = l.head"
      " SET l.token = GREATEST(l.token + 1, " HOLDFAST_MICROSECONDS
      "), l.owner = w.claim, l.since = " HOLDFAST_CLOCK ", l.expires = " HOLDFAST_CLOCK
      " + LEAST(w.ttl, $3), l.ttl = LEAST(w.ttl, $3), l.label = w.label, l.head = w.seq + 1,"
      " l.waiting = l.waiting - IF(LAST_INSERT_ID(" HOLDFAST_LISTENER
      ") > 0, 1, 1), w.mode = -1"
      " WHERE l.name = $1 AND l.owner = $2 AND l.sharing = 0 AND w.mode = 0 AND w.process <> $4"
      " AND " HOLDFAST_LISTENER " > 0",
      "KILL QUERY IF(ROW_COUNT() > 0, LAST_INSERT_ID(), 0)"};
  sql.pass_on.last = 0;
  // Variables carry what a statement found to the next; $5 tells ours from those of a request before.
  // The row is ours when the times are read that are written into it.
  sql.hand_over.statements = {
      sql.begin,
      "SELECT w.seq, w.claim, w.mode, w.process, LEAST(w.ttl, $3), w.label, " HOLDFAST_LISTENER
      ", $5 INTO @hf_seq, @hf_claim, @hf_mode, @hf_process, @hf_ttl, @hf_label, @hf_session, @hf_is"
      " FROM holdfast_lock l STRAIGHT_JOIN holdfast_waiter w ON w.name = l.name"
      " WHERE l.name = $1 AND l.owner = $2 AND l.sharing = 0 AND w.mode >= 0"
      " ORDER BY w.seq LIMIT 1 FOR UPDATE",
      "UPDATE holdfast_lock SET token = LAST_INSERT_ID(GREATEST(token + 1, " HOLDFAST_MICROSECONDS
      ")), owner = @hf_claim,"
      " since = " HOLDFAST_CLOCK ", expires = " HOLDFAST_CLOCK
      " + @hf_ttl, ttl = @hf_ttl, label = @hf_label, waiting = waiting - 1, head = @hf_seq + 1"
      " WHERE name = $1"
      " AND owner = $2 AND @hf_is = $5 AND @hf_mode = 0 AND @hf_session > 0",
      "DELETE FROM holdfast_waiter WHERE name = $1 AND seq = @hf_seq AND ROW_COUNT() = 1",
      "SELECT @hf_process, @hf_claim, LAST_INSERT_ID(), @hf_ttl FROM DUAL WHERE ROW_COUNT() = 1",
      sql.commit,
      // Where there is nobody to wake, it fails, and that does no harm.
      "KILL QUERY IF(@hf_is = $5 AND @hf_mode = 0 AND @hf_process <> $4, @hf_session, 0)"};
  sql.hand_over.answer = 4;
  sql.hand_over.last = 5;
  // One who is there already takes a turn, which also counts anew. The time is that before the row was
  // waited for, at most five seconds: whose hold began meanwhile seems to have more than its ttl.
  sql.enqueue.statements = {
      sql.begin,
      "UPDATE holdfast_lock SET waiting = waiting + 1, line = LAST_INSERT_ID(line + 1)"
      " WHERE name = $1 AND owner <> $2"
      " AND expires > " HOLDFAST_CLOCK " AND expires <= " HOLDFAST_CLOCK " + ttl + 5000000000",
      "INSERT INTO holdfast_waiter"
      "(name, seq, claim, mode, permits, ttl, process, outlives, since, label)"
      " SELECT $1, LAST_INSERT_ID(), $2, $3, $4, $5, $6, $7, " HOLDFAST_CLOCK
      ", $8 FROM DUAL WHERE ROW_COUNT() = 1 AND NOT EXISTS"
      " (SELECT 1 FROM holdfast_waiter w WHERE w.name = $1 AND w.claim = $2 AND w.mode >= 0)",
      "SELECT token, label, expires - " HOLDFAST_CLOCK
      ", waiting - 1 FROM holdfast_lock WHERE name = $1 AND ROW_COUNT() = 1",
      // (Without the head it would go through the whole line for the second of them.)
      "DELETE FROM holdfast_waiter WHERE name = $1"
      " AND seq < (SELECT head FROM holdfast_lock WHERE name = $1) AND mode < 0"
      " ORDER BY seq LIMIT 2",
      sql.commit};
  sql.enqueue.answer = 3;
  sql.enqueue.last = 5;
  sql.move_waiters = "UPDATE holdfast_waiter SET process = $1 WHERE process = $2";
  sql.clean = {"DELETE FROM holdfast_holder WHERE expires < " HOLDFAST_CLOCK " - $1",
               "DELETE FROM holdfast_waiter WHERE since < " HOLDFAST_CLOCK
               " - $1 AND (mode < 0 OR IS_USED_LOCK(CONCAT('holdfast:wake:', process)) IS NULL)"};
  return sql;
}

}  // namespace

std::string hush_of(table::ProcessId process) { return "holdfast:hush:" + std::to_string(process); }

Listening listen_for(const std::vector<table::TableServer::Awaited>& awaited,
                     table::ProcessId process, Duration longest) {
  constexpr const char* kLeft = ", token, LEAST(expires - (" HOLDFAST_CLOCK "), ttl) FROM ";
  Listening both;
  both.sleep = {"SELECT GET_LOCK(?, ?) FROM DUAL WHERE NOT EXISTS (",
                {hush_of(process),
                 std::int64_t{std::chrono::duration_cast<std::chrono::seconds>(longest).count()}}};
  for (const bool alone : {true, false}) {
    // By name: there are far fewer of these than of claims.
    std::map<std::string, std::vector<SqlValue>> claims;
    for (const table::TableServer::Awaited& each : awaited) {
      if (each.alone == alone) claims[each.key].push_back(table::to_value(each.claim));
    }
    if (claims.empty()) continue;
    const std::string table = alone ? "holdfast_lock" : "holdfast_holder";
    const std::string holder = alone ? "owner" : "claim";
    const bool first = both.news.text.empty();
    both.sleep.text += (first ? "" : " UNION ALL ") + ("SELECT 1 FROM " + table);
    both.news.text += (first ? "" : " UNION ALL ") + ("SELECT " + holder + kLeft + table);
    const char* separator = " WHERE ";
    for (auto& [name, theirs] : claims) {
      std::string these = separator + ("(name = ? AND " + holder + " IN (?");
      for (std::size_t i = 1; i < theirs.size(); ++i) these += ",?";
      these += "))";
      for (SqlStatement* each : {&both.sleep, &both.news}) {
        each->text += these;
        each->values.emplace_back(name);
        each->values.insert(each->values.end(), theirs.begin(), theirs.end());
      }
      separator = " OR ";
    }
  }
  both.sleep.text += ")";
  return both;
}

Bounded::Bounded(std::vector<SqlStatement> given) {
  const auto add = [&](const std::string& timeout_s) {
    added.push_back(statements.size());
    statements.push_back({"SET SESSION wait_timeout = " + timeout_s, {}});
  };
  for (SqlStatement& each : given) {
    if (each.text.starts_with(kBegin)) add(kTransactionTimeout);
    const bool ends = each.text == table_sql().commit || each.text == table_sql().rollback;
    statements.push_back(std::move(each));
    if (ends) add(kCallTimeout);
  }
}

void Bounded::strip(SqlOutcome& outcome) const {
  for (auto each = added.rbegin(); each != added.rend(); ++each) {
    if (*each >= outcome.results.size()) continue;
    outcome.results.erase(outcome.results.begin() + static_cast<std::ptrdiff_t>(*each));
  }
}

const table::Dialect& table_sql() {
  static const Eternal<table::Dialect> sql = make();
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
