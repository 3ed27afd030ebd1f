#include "engines/postgres/table_sql.h"

#include "base/eternal.h"

namespace holdfast::internal::postgres {

namespace {

// Not now(), which stands still from the begin of the transaction: a row may be waited for.
#define HOLDFAST_MICROSECONDS "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
#define HOLDFAST_CLOCK HOLDFAST_MICROSECONDS " * 1000"

// A client that cannot listen (PooledTable) has no number of its own: its waiters are of the process -T, and alive until
// T, in milliseconds of this clock. They move T on while they look.
#define HOLDFAST_MILLISECONDS "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
#define HOLDFAST_ALIVE_UNTIL "-(" HOLDFAST_MILLISECONDS " + 10000)"
#define HOLDFAST_PROCESS \
  "CASE WHEN $6::bigint < 0 THEN " HOLDFAST_ALIVE_UNTIL " ELSE $6::bigint END"
// A client that listens keeps an advisory lock on its number: where others can take it, even shared, nobody listens.
#define HOLDFAST_GONE(process)                                             \
  "(CASE WHEN " process " < 0 THEN " process " >= -" HOLDFAST_MILLISECONDS \
  " ELSE pg_try_advisory_xact_lock_shared(" process ") END)"

#define HOLDFAST_WAITER_COLUMNS \
  "w.seq, w.claim, w.mode, w.permits, w.ttl, w.process, w.outlives, w.since, w.label"

#define HOLDFAST_LOCK_COLUMNS \
  "token, owner, since, expires, ttl, label, waiting, sharing, sharing_mode, permits"

table::Dialect make() {
  table::Dialect sql;
  sql.begin = "BEGIN";
  sql.begin_reading = {"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
  sql.commit = "COMMIT";
  sql.rollback = "ROLLBACK";
  // excluded.since is now, excluded.token the same in microseconds.
  sql.take =
      "INSERT INTO holdfast_lock AS l (name, full_name, token, owner, since, expires, ttl, label)"
      " SELECT $1::bytea, $2::bytea, c.now / 1000, $3::bytea, c.now, c.now + $4::bigint, "
      "$4::bigint, $5::bytea"
      " FROM (SELECT " HOLDFAST_CLOCK
      " AS now) c"
      " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, label = excluded.label,"
      " expires = excluded.expires, ttl = excluded.ttl,"
      " token = CASE WHEN l.owner = excluded.owner AND l.expires > excluded.since"
      " THEN l.token ELSE greatest(l.token + 1, excluded.token) END,"
      " since = CASE WHEN l.owner = excluded.owner AND l.expires > excluded.since"
      " THEN l.since ELSE excluded.since END"
      " WHERE (l.waiting = 0 AND l.sharing = 0 AND"
      " (l.owner IS NULL OR l.expires <= excluded.since))"
      " OR (l.owner = excluded.owner AND l.expires > excluded.since)"
      " RETURNING token, ctid";
  // The newest version of a row is mostly the last one in the index: to begin there finds it without going
  // through those before it. (With name = $1 the server would not heed the order.) Without a row, or if
  // the row changes meanwhile, this may take nothing.
  const std::string newest =
      "(SELECT ctid FROM holdfast_lock WHERE name >= $1 AND name <= $1 ORDER BY name DESC LIMIT 1)";
  const std::string mine = "(l.owner = $3::bytea AND l.expires > c.now)";
  sql.take_moving =
      "UPDATE holdfast_lock l SET owner = $3::bytea, label = $5::bytea,"
      " expires = c.now + $4::bigint, ttl = $4::bigint,"
      " token = CASE WHEN " +
      mine + " THEN l.token ELSE greatest(l.token + 1, c.now / 1000) END, since = CASE WHEN " +
      mine +
      " THEN l.since ELSE c.now END FROM (SELECT " HOLDFAST_CLOCK
      " AS now OFFSET 0) c WHERE l.ctid = " +
      newest +
      " AND l.name = $1::bytea AND $2::bytea IS NOT DISTINCT FROM l.full_name"
      " AND ((l.waiting = 0 AND l.sharing = 0 AND (l.owner IS NULL OR l.expires <= c.now)) OR " +
      mine + ") RETURNING l.token, l.ctid";
  sql.free_moving = "UPDATE holdfast_lock SET owner = NULL WHERE ctid = " + newest +
                    " AND name = $1 AND owner = $2 AND waiting = 0";
  sql.free = "UPDATE holdfast_lock SET owner = NULL WHERE name = $1 AND owner = $2 AND waiting = 0";
  sql.make =
      "INSERT INTO holdfast_lock(name, full_name, token) VALUES($1, $2, 0) ON CONFLICT DO NOTHING";
  sql.find = "SELECT " HOLDFAST_LOCK_COLUMNS " FROM holdfast_lock WHERE name = $1";
  sql.lock = sql.find + " FOR UPDATE";
  sql.holders =
      "SELECT claim, token, since, expires, ttl, label FROM holdfast_holder WHERE name = $1"
      " ORDER BY token";
  sql.line =
      "SELECT c.now, o.seq, (SELECT count(*) FROM holdfast_waiter b WHERE b.name = $1"
      " AND b.seq < o.seq), " HOLDFAST_WAITER_COLUMNS
      ", CASE WHEN w.process IS NULL OR " HOLDFAST_GONE("w.process") " THEN 0 ELSE 1 END"
      " FROM (SELECT " HOLDFAST_CLOCK
      " AS now) c"
      " LEFT JOIN (SELECT seq FROM holdfast_waiter WHERE name = $1 AND claim = $2 LIMIT 1) o ON "
      "true"
      " LEFT JOIN (SELECT * FROM holdfast_waiter WHERE name = $1 ORDER BY seq LIMIT $3) w ON true"
      " ORDER BY w.seq";
  sql.save =
      "UPDATE holdfast_lock SET token = $2, owner = $3, since = $4, expires = $5, ttl = $6,"
      " label = $7, waiting = $8, sharing = $9, sharing_mode = $10, permits = $11,"
      " line = greatest(line, (SELECT max(seq) FROM holdfast_waiter WHERE name = $1)),"
      " head = coalesce((SELECT min(seq) FROM holdfast_waiter WHERE name = $1), line + 1)"
      " WHERE name = $1";
  sql.add_holder =
      "INSERT INTO holdfast_holder(name, claim, token, since, expires, ttl, label)"
      " VALUES($1, $2, $3, $4, $5, $6, $7)";
  sql.remove_holder = "DELETE FROM holdfast_holder WHERE name = $1 AND claim = $2";
  sql.set_expiry =
      "UPDATE holdfast_holder SET expires = $3, ttl = $4 WHERE name = $1 AND claim = $2";
  sql.add_waiter =
      "INSERT INTO holdfast_waiter"
      "(name, seq, claim, mode, permits, ttl, process, outlives, since, label)"
      " SELECT $1, line + 1, $2, $3, $4, $5, " HOLDFAST_PROCESS
      ", $7, $8, $9 FROM holdfast_lock WHERE name = $1";
  sql.remove_waiter = "DELETE FROM holdfast_waiter WHERE name = $1 AND seq = $2";
  sql.renew_owner =
      "UPDATE holdfast_lock SET ttl = $3::bigint, expires = " HOLDFAST_CLOCK
      " + $3::bigint WHERE name = $1 AND owner = $2 AND token = $4 AND expires > " HOLDFAST_CLOCK;
  sql.renew_holder =
      "UPDATE holdfast_holder SET ttl = $3::bigint, expires = " HOLDFAST_CLOCK
      " + $3::bigint WHERE name = $1 AND claim = $2 AND token = $4 AND expires > " HOLDFAST_CLOCK;
  sql.look = "SELECT " HOLDFAST_CLOCK
             ", l.owner, l.expires,"
             " (SELECT min(h.expires) FROM holdfast_holder h WHERE h.name = l.name), w.seq,"
             " (SELECT count(*) FROM holdfast_waiter b WHERE b.name = l.name"
             " AND b.seq < coalesce(w.seq, 9223372036854775807)),"
             " l.token, l.label, CASE WHEN (l.owner IS NOT NULL AND l.expires > " HOLDFAST_CLOCK
             " + l.ttl) OR EXISTS (SELECT 1 FROM holdfast_holder h WHERE h.name = l.name"
             " AND h.expires > " HOLDFAST_CLOCK
             " + h.ttl) THEN 1 ELSE 0 END"
             " FROM holdfast_lock l LEFT JOIN holdfast_waiter w"
             " ON w.name = l.name AND w.claim = $2 WHERE l.name = $1";
  sql.names =
      "SELECT name, full_name FROM holdfast_lock"
      " WHERE owner IS NOT NULL OR waiting > 0 OR sharing > 0";
  const std::string tell =
      " SELECT process, claim, token, ttl, CASE WHEN process <> $4 AND process > 0 THEN"
      " pg_notify('holdfast_' || lpad(to_hex(process), 16, '0'),"
      " encode(claim, 'hex') || ' ' || token || ' ' || ttl) END FROM given";
  // If the row has to be waited for, the server looks at what it has become, and at the waiter as it
  // was before: who changes the queue has to write the row as well, so that the head is another then.
  sql.pass_on =
      "WITH given AS (UPDATE holdfast_lock l"
      " SET token = greatest(l.token + 1, " HOLDFAST_MICROSECONDS
      "), owner = w.claim,"
      " since = " HOLDFAST_CLOCK ", expires = " HOLDFAST_CLOCK
      " + least(w.ttl, $3::bigint), ttl = least(w.ttl, $3::bigint), label = w.label,"
      " waiting = l.waiting - 1, head = w.seq + 1 FROM holdfast_waiter w"
      " WHERE l.name = $1 AND l.owner = $2 AND l.sharing = 0 AND w.name = $1 AND w.seq = l.head"
      " AND w.mode = 0 AND NOT " HOLDFAST_GONE("w.process")
      " RETURNING l.token, w.seq, w.claim, w.process, l.ttl),"
      " gone AS (DELETE FROM holdfast_waiter w USING given g WHERE w.name = $1 AND w.seq = g.seq)" +
      tell;
  sql.hold = "SELECT 1 FROM holdfast_lock WHERE name = $1 FOR UPDATE";
  sql.enqueue =
      "WITH held AS MATERIALIZED (SELECT l.token, l.label, l.expires, l.waiting, l.line, c.now"
      " FROM holdfast_lock l, (SELECT " HOLDFAST_CLOCK
      " AS now) c WHERE l.name = $1 AND l.owner <> $2 AND l.expires > c.now"
      " AND l.expires <= c.now + l.ttl),"
      " added AS (INSERT INTO holdfast_waiter"
      "(name, seq, claim, mode, permits, ttl, process, outlives, since, label)"
      " SELECT $1, h.line + 1, $2, $3, $4, $5, " HOLDFAST_PROCESS
      ", $7, h.now, $8 FROM held h WHERE NOT EXISTS"
      " (SELECT 1 FROM holdfast_waiter w WHERE w.name = $1 AND w.claim = $2) RETURNING seq),"
      " counted AS (UPDATE holdfast_lock l SET waiting = l.waiting + 1, line = added.seq"
      " FROM added WHERE l.name = $1)"
      " SELECT h.token, h.label, h.expires - h.now, h.waiting FROM held h, added";
  sql.move_waiters = "UPDATE holdfast_waiter SET process = $1 WHERE process = $2";
  sql.clean = {
      "DELETE FROM holdfast_holder WHERE expires < " HOLDFAST_CLOCK " - $1::bigint",
      "WITH old AS MATERIALIZED (SELECT name, seq, process FROM holdfast_waiter"
      " WHERE since < " HOLDFAST_CLOCK
      " - $1::bigint),"
      " dead AS MATERIALIZED (SELECT name, seq FROM old"
      " WHERE " HOLDFAST_GONE("process") ")"
      " DELETE FROM holdfast_waiter w USING dead d WHERE w.name = d.name AND w.seq = d.seq"};
  return sql;
}

}  // namespace

const table::Dialect& table_sql() {
  static const Eternal<table::Dialect> sql = make();
  return sql;
}

const char* stay_alive_sql() {
  // Rows that have most of their time are left alone: what changes nothing is not written to disk.
  return "UPDATE holdfast_waiter SET process = " HOLDFAST_ALIVE_UNTIL
         " WHERE name = $1 AND process < 0 AND process > -(" HOLDFAST_MILLISECONDS
         " + 8000) AND claim IN (SELECT substr($2::bytea, 16 * i + 1, 16)"
         " FROM generate_series(0, octet_length($2::bytea) / 16 - 1) i)";
}

}  // namespace holdfast::internal::postgres
