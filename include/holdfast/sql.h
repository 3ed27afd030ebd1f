// Statements for your own connection to MySQL or PostgreSQL, when lock, fence and data are in one
// database. They are plain texts, with all values in place: execute them in order, inside your
// transaction, with any client library.
//
//   lock in the transaction   BEGIN; lock…; read and write; COMMIT
//       The lock is held until the transaction ends, however it ends. A client that loses the connection
//       loses the transaction with it: a write that is delayed for a minute and a half fails, and
//       nothing of it is there. It excludes, and is excluded by, leases of the same name of
//       recipe=row (MySQL) and recipe=advisory (PostgreSQL).
//   fence                     BEGIN; admit…; read or write; COMMIT
//       The lock is anywhere, and its token guards rows of yours. Reads must be guarded too. The
//       rule for exclusive and shared tokens is that of fence.h.
//
// Thread safety: functions without state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/ids.h"
#include "holdfast/ticket.h"

namespace holdfast::sql {

enum class Dialect { mysql, postgres };

// Waits until the lock is yours; the last statement returns one cell, a token, which grows from
// holder to holder. A transaction that is rolled back gives its token back: use it for what the
// transaction commits, and for nothing else. `prefix` is that of the URL of those who use leases.
// It does not wait for a lease that a restart or a failover of the server has ended, and whose holder
// was cut off and still believes in it: what that one writes must be fenced, or in transactions too.
// On MySQL lock_wait_timeout limits the wait (error 1205), on PostgreSQL lock_timeout (55P03).
HOLDFAST_API std::vector<std::string> lock_in_transaction(Dialect dialect, const Name& name,
                                                          std::string_view prefix = {});

// The last statement returns one cell: 1 if the ticket was admitted, 0 if somebody newer has been
// at `resource`: then roll back. The mark stays locked until your transaction ends, so that nobody
// comes in between. After a shared ticket, read only.
// Throws LockError (invalid_argument) for token 0 and for a permit, which no mark can check.
//
// They need table holdfast_fence_writer, which earlier versions did not: if the server does not
// know it (error 1146 of MySQL, 42P01 of PostgreSQL), run tables() once more, as a user with the
// right to create tables. No table is altered, and earlier versions may go on using theirs at the
// same time: see docs/FENCING.md.
HOLDFAST_API std::vector<std::string> admit(Dialect dialect, const Name& resource,
                                            const Ticket& ticket);

// The statements that create the tables needed here.
HOLDFAST_API std::vector<std::string> tables(Dialect dialect);

}  // namespace holdfast::sql
