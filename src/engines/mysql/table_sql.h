// The lock table in the SQL that MySQL and MariaDB have in common. Each statement commits by itself and touches
// one row (a renewal: one row each), so a client that stops at any moment leaves nothing locked.
//
// One row per name, which stays, because it keeps the last token:
//   token          the last that was given; grants are max(token + 1, the server's clock in microseconds), so
//                  that rows which were forgotten (failover, restored backup) go on above what they forgot
//   version        grows with each change: what was decided on a row is written only if the row is still the same
//   owner, since, expires, ttl, label    the exclusive holder
//   holders        who shares the lock, or has one of its permits; see LockDocument
//   waiters, labels    the queue; see LockDocument
// Times are nanoseconds since 1970 on the server's clock, which alone decides what has expired.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engines/table/rows.h"
#include "wire/sql_connection.h"

namespace holdfast::internal::mysql {

// The columns of a row as `find` and `list` return them.
enum Columns : std::size_t {
  kNow,
  kToken,
  kVersion,
  kOwner,
  kSince,
  kExpires,
  kTtl,
  kLabel,
  kHolders,
  kWaiters,
  kLabels,
  kPermits,
  kSharingMode,
  kAlive,  // for each of the first waiters '1' if its client is alive, else '0'
  kName,
  kFullName,
};

// The columns of `look`.
enum Looked : std::size_t {
  kLookNow,
  kLookOwner,
  kLookExpires,
  kLookTtl,
  kLookToken,
  kLookLabel,
  kLookHolders,
  kLookPlace,  // of the claim in the queue, from 0; null if it is not there
  kLookWaiting,
  kLookBefore,  // the claim before it; null if there is none
  kLookNamed,   // only of `look_and_name`: 1 if the name was taken
};

// A statement that returns rows.
struct Question {
  std::string text;
  SqlShape answer;
};

struct TableSql {
  // key, claim, ttl, label. Changes a row that is free, and that nobody waits for; SqlRows::id is the token.
  std::string take_free;
  // key, full name, claim, ttl, label. SqlRows::id is the token if the lock was free and nobody waits, had expired, or
  // is the claim's already; else 0.
  std::string take;
  // key, claim, ttl as bytes, end of entry, label entry. Puts the claim at the end of the queue of a lock that is held,
  // unless it is there. SqlRows::id is the row's version then.
  std::string queue;
  // key, claim. Changes a row if the claim holds the lock, and nobody waits: see queue_policy.h.
  std::string free;
  // key, claim, most ttl. Grants the lock to the head of the queue for at most that ttl. Changes nothing if the claim
  // does not hold it, or if the head is dead or does not want the lock alone.
  std::string pass_on;
  // key, full name
  std::string make;
  // key -> Columns
  Question find;
  // -> Columns of all that are held or waited for
  Question list;
  // key, version, token, then what LockDocument::values() has behind them. Changes the row if it is still the same.
  // SqlRows::id is its version then.
  std::string write;
  // key, claim, ttl as bytes, ttl, token as bytes. For those who share.
  std::string renew_holder;
  // key, claim -> Looked
  Question look;
  // key, claim, its name -> the same; takes the name.
  Question look_and_name;
  // name. Gives it back, if the statement before it in the same request changed a row.
  std::string give_name;
};

const TableSql& table_sql();

// Renews exclusive holds, all for the same ttl, by one statement; it changes one row for each that is held still. Its
// SqlRows::id is 1 if one of them is waited for.
struct Renewal {
  std::string key;
  SqlValue claim;
  std::int64_t token = 0;
};
SqlStatement renew_owners(std::span<const Renewal> renewals, std::int64_t ttl);
// Which of them are waited for -> owner
SqlStatement awaited_owners(std::span<const Renewal> renewals);
// Which of them are held -> owner, token
SqlStatement held_owners(std::span<const Renewal> renewals);

// The client of a claim that waits, or has waited, holds this name (GET_LOCK) while the claim does.
std::string name_of(const ClaimId& claim);
// An expression: takes a name; 1 if this session has it then. One that takes it twice would have to give it back twice.
std::string take_name_sql(const std::string& name);

// Statements number their parameters; the driver wants them in the order in which they stand. "$2, $1" becomes
// "?, ?", with the values to match.
SqlStatement in_order(const std::string& text, const std::vector<SqlValue>& values);
SqlStatement in_order(const Question& question, const std::vector<SqlValue>& values);

}  // namespace holdfast::internal::mysql
