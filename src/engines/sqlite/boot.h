// Boot: the times in a lock database are of CLOCK_BOOTTIME, which begins anew with each boot of the
// machine. When a database comes from another boot, its times are translated by the wall clock, and
// what cannot hold any more is dropped.
//
//   a hold whose process is gone for certain    is dropped
//   a detached hold, or one whose process       is kept until its ttl has passed by the wall clock;
//   may live (DB-live was replaced)             never longer than it could have held before
//   waiters                                     are dropped; one that lives queues again
//   tokens                                      go on above all that were given out before
//
// Another boot id is not always another boot: a container can have one of its own. If a process
// that uses the database is seen to live, it was none, and the newcomer is refused.
#pragma once

#include <cstdint>
#include <string>

#include "engines/sqlite/liveness.h"
#include "holdfast/runtime.h"
#include "wire/sqlite.h"

namespace holdfast::internal {

class Boot {
 public:
  // Throws sqlite::Error if the boot id cannot be read.
  static Boot current(const Runtime& runtime);

  const std::string& id() const { return id_; }
  // True if the database's times are of this boot and the wall clock has not been set since.
  bool is_that_of(sqlite::Database& database) const;
  // Makes it so. REQUIRES: a transaction. Throws sqlite::Error, also if a process of another boot
  // id is alive.
  void enter(sqlite::Database& database, const Liveness& liveness) const;

 private:
  std::string id_;
  std::int64_t now_ns_ = 0;          // on CLOCK_BOOTTIME
  std::int64_t wall_offset_ns_ = 0;  // what to add to get the time of day
};

}  // namespace holdfast::internal
