// DatabaseFiles: the files of an open database, and whether they are still the ones that we
// opened. SQLite itself does not look: a client whose database was replaced, or whose log was
// removed, would go on with files that nobody else sees.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engines/sqlite/liveness.h"
#include "engines/sqlite/ownership.h"
#include "holdfast/time.h"
#include "wire/sqlite.h"

namespace holdfast::internal {

class DatabaseFiles {
 public:
  struct Found {
    Ownership beside;        // for the files beside the database
    FoundDatabase database;  // what a newcomer compares with what others use
  };
  // Checks owner and mode of every file that exists. To be called before SQLite opens them.
  // Throws sqlite::Error.
  static Found check(const std::filesystem::path& database, const Ownership& ownership);

  // Checks and remembers the files that `open` is using by now. Throws sqlite::Error.
  DatabaseFiles(const std::filesystem::path& database, const Ownership& ownership,
                sqlite::Database& open);

  // The path of a file that was replaced or removed; empty if there is none. Looks once in 5 ms at
  // most: a file that is replaced just after a grant is noticed no sooner.
  std::string replaced(BootTime now);

 private:
  PinnedFile database_;
  PinnedFile log_;
  PinnedFile index_;
  BootTime look_at_{};
};

}  // namespace holdfast::internal
