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

struct Dialect {
  std::string begin;
  std::vector<std::string> begin_reading;  // all statements see the same moment
  std::string commit;
  std::string rollback;

  // name, full name, claim, ttl, label -> the token and the row's place, if it was free, had expired, or is the
  // claim's already; and if nobody waits. Else no row.
  std::string take;
  // name, claim. Changes one row, if the claim held and nobody waits: see queue_policy.h.
  std::string free;
  // The same two for a row that is known to move about (see RowMoves). They may find nothing where the others would.
  std::string take_moving;
  std::string free_moving;
  // name, claim, most ttl, own process -> process, claim, token, ttl of the waiter that has it now; it was woken,
  // unless it is of the own process. Changes nothing, and returns no row, if the claim did not hold, or if the head of
  // the queue is not as queue_policy.h says.
  std::string pass_on;
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
  // name. The row is ours alone until the end of the transaction, so that the next statement sees all who came before.
  std::string hold;
  // name, claim, mode, permits, ttl, process, outlives, label -> the last token, label of the holder,
  // time that it has, how many wait before the claim. Behind `hold`, in one transaction. Changes nothing, and returns
  // no row, if there is no exclusive holder.
  std::string enqueue;

  // new, old. Waiters of one process are now of another.
  std::string move_waiters;
  // before. Removes holders that expired, and waiters that came and are gone, before that moment.
  std::vector<std::string> clean;
};

}  // namespace holdfast::internal::table
