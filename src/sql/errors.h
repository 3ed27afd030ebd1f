// SqlTrouble: the meaning of a server's error for the request that it answers. Each database has a function that tells
// it (sql/postgres/errors.h, sql/mysql/errors.h).
#pragma once

#include "base/server_reporter.h"
#include "wire/endpoint.h"
#include "wire/sql_connection.h"

namespace holdfast::internal {

enum class SqlTrouble {
  other,
  busy,         // somebody else has the row or the lock, and the time to wait for it is over
  interrupted,  // by somebody, or by a time limit of the statement: it may or may not have been executed
  again,        // a deadlock or the like: nothing has happened, and it may well go next time
  no_table,
};

// An error of a request that leaves nothing behind, or whose effect the next request finds: never `unknown`.
inline SqlError never_run(SqlError error) {
  error.may_have_run = false;
  return error;
}

// `why`, which is how `error` reads to a user. The observer hears of it, if it is the server's own, and nothing that
// another attempt gets over.
inline Failure reported(Runtime& runtime, const Endpoint& server, const SqlError& error,
                        SqlTrouble trouble, Failure why) {
  const bool server_speaks = !error.state.empty() && !error.lost;
  if (server_speaks && trouble == SqlTrouble::other) {
    report_refused(runtime, server.display(), why);
  }
  return why;
}

}  // namespace holdfast::internal
