// The database file: where it may be, whose it must be, and how its tables are made.
#pragma once

#include <filesystem>

#include "base/url.h"
#include "engines/sqlite/liveness.h"
#include "wire/sqlite.h"

namespace holdfast::internal {

struct StoreOptions {
  std::filesystem::path path;
  bool sync_every_commit = false;  // ?sync=full
  std::string group;               // ?group=NAME; empty: of one user
};

// From sqlite:///absolute/path?sync=full or sqlite:relative/path.
Result<StoreOptions> store_options(const Url& url);

// Of this process' user, or of the group. misconfigured if there is no such group, or we are not in it.
Result<Ownership> ownership_of(const StoreOptions& options);

// Creates the file (readable by its owner alone) if it is missing; refuses what others own or could
// replace (see ownership.h), and network file systems, where neither file locks nor wake-ups can be
// trusted. Returns the file's one true path, without symbolic links: the files beside it are found
// by it. For a group it makes the directory, too, and follows no link at all.
Result<std::filesystem::path> prepare_file(const std::filesystem::path& path,
                                           const Ownership& ownership);

// Facts that a client must know about the database that it opened.
struct Prepared {
  std::string boot;              // the machine's boot id
  std::int64_t token_floor = 0;  // no token at or below it may be given out
};

// Creates the tables if they are missing, and moves them into this boot of the machine if they are
// from another one (see boot.h). `complete`: it has all its files. Throws sqlite::Error.
Prepared prepare_tables(sqlite::Database& database, const StoreOptions& options,
                        const Liveness& liveness, const Runtime& runtime, bool complete);

}  // namespace holdfast::internal
