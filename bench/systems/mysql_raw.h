// The bare statements of a lock on MySQL and MariaDB, through MariaDB's client library: a program
// without a lock library, one connection per lock. It draws no token, and nothing ends a frozen holder.
//
//   kind    acquire                                      release
//   named   GET_LOCK                                     RELEASE_LOCK
//   row     BEGIN, SELECT … FOR UPDATE                   COMMIT
//   poll    INSERT, once a millisecond until it succeeds DELETE
#pragma once

#include <memory>
#include <string>

#include "simple_worker.h"

namespace holdfast::bench {

// Throws if there is no such kind, or the server refuses.
std::unique_ptr<SimpleLock> make_mysql_raw(const std::string& kind, int port,
                                           const std::string& name);

}  // namespace holdfast::bench
