// Dialect: the statements of a lock table on a database server. All that differs between servers is
// here; what they are sent for is the same. Parameters are $1, $2 …, in the order given.
//
// The tables:
//   holdfast_lock    one row per name that was ever locked; it stays, because it keeps the last
//                    token. An exclusive holder is in the row itself, so that an uncontended
//                    acquire and release are one statement each.
//   holdfast_holder  who shares a lock, or has one of its permits
//   holdfast_waiter  who waits, in the order of seq
// Times are nanoseconds since 1970 on the server's clock, which alone decides what has expired.
// Tokens are max(last + 1, that clock in microseconds): rows that were forgotten (a failover, a restored
// backup) go on above what they forgot, unless the clock is set back, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/table/key.h"

namespace holdfast::internal::table {

// Several statements that are sent as one request and share their parameters: each has as many of the
// values as the highest number in it.
struct Script {
  std::vector<std::string> statements;
  std::size_t answer = 0;  // which of them tells what came of it
  std::size_t last = 0;    // the last that must go well; what comes behind it may fail

  bool empty() const { return statements.empty(); }
  std::vector<SqlStatement> with(const std::vector<SqlValue>& values) const;
};

struct Dialect {
  std::string begin;
  std::vector<std::string> begin_reading;  // all statements see the same moment
  std::string commit;
  std::string rollback;

  // name, full name, claim, ttl, label -> the token, if it was free, had expired, or is the claim's
  // already; and if nobody waits. Else no row. The last of them answers.
  std::vector<std::string> take;
  // name, claim. Changes one row, if the claim held and nobody waits.
  std::string free;
  // The same two for a row that is known to move about (see RowMoves), where there is such a thing: then
  // `take` and `take_moving` return the row's place behind the token. They may find nothing where the
  // others would.
  std::string take_moving;
  std::string free_moving;
  // name, full name. Makes the row, if there is none.
  std::string make;
  // name -> token, owner, since, expires, ttl, label, waiting, sharing, sharing_mode, permits; until
  // the end of the transaction it is ours alone
  std::string lock;
  std::string find;  // the same without locking it
  // name -> claim, token, since, expires, ttl, label; by token
  std::string holders;
  // name, claim, limit -> at least one row: now, the claim's seq, how many are before it; and the
  // waiters: seq, claim, mode, permits, ttl, process, outlives, since, label, alive
  std::string line;
  // name, token, owner, since, expires, ttl, label, waiting, sharing, sharing_mode, permits
  std::string save;
  // name, claim, token, since, expires, ttl, label
  std::string add_holder;
  std::string remove_holder;  // name, claim
  std::string set_expiry;     // name, claim, expires, ttl
  // name, claim, mode, permits, ttl, process, outlives, since, label
  std::string add_waiter;
  std::string remove_waiter;  // name, seq
  // name, claim, ttl, token. Changes one row, if it is held still. The second for those who share.
  std::string renew_owner;
  std::string renew_holder;
  // name, claim -> now, owner, its expires, the first expires of those who share, the claim's seq,
  // how many are before it, the token, the label of the owner, and 1 if some hold has more time than
  // it can have: the clock was set back
  std::string look;
  // -> name, full name of all that are held or waited for
  std::string names;
  // The short ways through a contended lock; each is one transaction, that begins with the row being
  // ours alone. No row: nothing was changed, and it takes a turn.
  // The same in one statement, the first of them, where the next in line is simply the one behind who
  // came last: it changes something (or returns a row), if it did. name, claim, most ttl, own process
  // -> the same as `hand_over`, or nothing, if it does not give it to the own process.
  Script pass_on;
  // name, claim, most ttl, own process, a number that no request before had -> process, claim, token,
  // ttl of the waiter that has it now; it was woken, unless it is of the own process. The statement
  // `freed`, if there is one, changes a row if nobody waits.
  Script hand_over;
  std::optional<std::size_t> freed;
  // name, claim, mode, permits, ttl, process, outlives, label -> the last token, label of the holder,
  // time that it has, how many wait before the claim
  Script enqueue;

  // new, old. Waiters of one process are now of another.
  std::string move_waiters;
  // before. Removes holders that expired, and waiters that came and are gone, before that moment.
  std::vector<std::string> clean;
};

}  // namespace holdfast::internal::table
