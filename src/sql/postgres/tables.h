// All tables that Holdfast makes in PostgreSQL, each defined once. With room for new versions of a row beside the old
// ones (fillfactor), no index changes with them. Needs no client library.
#pragma once

namespace holdfast::internal::postgres {

// ---- recipe=table ------------------------------------------------------------------------------

// line: the last place in the queue that was given to anybody. head: the first that somebody may have; if that waiter
// has left, the longer ways find the head anew.
inline constexpr const char* kLockTable =
    "CREATE TABLE IF NOT EXISTS holdfast_lock("
    " name bytea PRIMARY KEY, full_name bytea, token bigint NOT NULL,"
    " owner bytea, since bigint, expires bigint, ttl bigint, label bytea,"
    " waiting bigint NOT NULL DEFAULT 0, sharing bigint NOT NULL DEFAULT 0,"
    " sharing_mode smallint NOT NULL DEFAULT 0, permits bigint NOT NULL DEFAULT 0,"
    " line bigint NOT NULL DEFAULT 0, head bigint NOT NULL DEFAULT 1)"
    " WITH (fillfactor = 50)";
inline constexpr const char* kHolderTable =
    "CREATE TABLE IF NOT EXISTS holdfast_holder("
    " name bytea NOT NULL, claim bytea NOT NULL, token bigint NOT NULL,"
    " since bigint NOT NULL, expires bigint NOT NULL, ttl bigint NOT NULL, label bytea,"
    " PRIMARY KEY(name, claim)) WITH (fillfactor = 50)";
inline constexpr const char* kWaiterTable =
    "CREATE TABLE IF NOT EXISTS holdfast_waiter("
    " name bytea NOT NULL, seq bigint NOT NULL, claim bytea NOT NULL,"
    " mode smallint NOT NULL, permits bigint NOT NULL, ttl bigint NOT NULL,"
    " process bigint NOT NULL, outlives smallint NOT NULL, since bigint NOT NULL, label bytea,"
    " PRIMARY KEY(name, seq))";

// ---- Records ------------------------------------------------------------------------------------

inline constexpr const char* kRecordTable =
    "CREATE TABLE IF NOT EXISTS holdfast_record("
    " name bytea PRIMARY KEY, full_name bytea, value bytea NOT NULL)";

// ---- Recipes that live in a session, and sql::lock_in_transaction() ------------------------------

inline constexpr const char* kTokenTable =
    "CREATE TABLE IF NOT EXISTS holdfast_token("
    " lock_key bytea PRIMARY KEY, name bytea NOT NULL, token bigint NOT NULL,"
    " claim bytea, session text, xact bigint, label bytea, since timestamptz, ttl_us bigint)"
    " WITH (fillfactor = 50)";
// The constraint is an index by lock. CREATE INDEX IF NOT EXISTS would be refused to all but the table's owner, also
// where there is nothing left to make.
inline constexpr const char* kSharedTable =
    "CREATE TABLE IF NOT EXISTS holdfast_shared("
    " claim bytea PRIMARY KEY, lock_key bytea NOT NULL, session text NOT NULL,"
    " token bigint NOT NULL, label bytea NOT NULL, since timestamptz NOT NULL,"
    " ttl_us bigint NOT NULL, UNIQUE(lock_key, claim))";
inline constexpr const char* kRowTable =
    "CREATE TABLE IF NOT EXISTS holdfast_row("
    "lock_key bytea PRIMARY KEY, name bytea NOT NULL)";

// ---- Fences: sql::admit() ------------------------------------------------------------------------

inline constexpr const char* kFenceTable =
    "CREATE TABLE IF NOT EXISTS holdfast_fence("
    " resource_key bytea PRIMARY KEY, resource bytea NOT NULL, token bigint NOT NULL)"
    " WITH (fillfactor = 50)";
inline constexpr const char* kFenceWriterTable =
    "CREATE TABLE IF NOT EXISTS holdfast_fence_writer("
    " resource_key bytea PRIMARY KEY, writer bigint NOT NULL, newest bigint NOT NULL)"
    " WITH (fillfactor = 50)";

// The server's clock in microseconds since 1970, the lowest token that may be given out: rows that were forgotten
// (failover, restored backup) go on above what they forgot.
inline constexpr const char* kNowUs = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

}  // namespace holdfast::internal::postgres
