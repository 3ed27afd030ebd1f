// The bare statements of a lock on PostgreSQL, through libpq; prepared, as ours are: a program
// without a lock library, one connection per lock. It draws no token, and nothing ends a frozen holder.
//
//   kind    acquire                                      release
//   named   pg_advisory_lock                             pg_advisory_unlock
//   row     BEGIN, SELECT … FOR UPDATE                   COMMIT
//   poll    INSERT, once a millisecond until it succeeds DELETE
#pragma once

#include <memory>
#include <string>

#include "simple_worker.h"

namespace holdfast::bench {

// Throws if there is no such kind, or the server refuses.
std::unique_ptr<SimpleLock> make_postgres_raw(const std::string& kind, int port,
                                              const std::string& name);

}  // namespace holdfast::bench
