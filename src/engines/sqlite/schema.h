// The database file: where it may be, how it is created, and what a reboot does to it.
#pragma once

#include <filesystem>

#include "base/url.h"
#include "engines/sqlite/liveness.h"
#include "wire/sqlite.h"

namespace holdfast::internal {

struct StoreOptions {
  std::filesystem::path path;
  bool sync_every_commit = false;  // ?sync=full
};

// From sqlite:///absolute/path?sync=full or sqlite:relative/path.
Result<StoreOptions> store_options(const Url& url);

// Creates the file (readable by its owner alone) if it is missing; refuses network file systems,
// where neither file locks nor wake-ups can be trusted. Returns the file's one true path, without
// symbolic links: the files beside it are found by it.
Result<std::filesystem::path> prepare_file(const std::filesystem::path& path);

// Creates the tables if they are missing. On the first use after a reboot it clears all holders
// and waiters (their processes are gone) and moves every token ahead: after a power cut the last
// commits may be missing, and their tokens must not be given out again.
// Throws sqlite::Error, also if the boot id is another one but processes of the file are alive.
void prepare_tables(sqlite::Database& database, const StoreOptions& options,
                    const Liveness& liveness);

}  // namespace holdfast::internal
