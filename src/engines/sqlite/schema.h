// The database file: where it may be, how it is created, and what a reboot does to it.
#pragma once

#include <filesystem>

#include "base/url.h"
#include "wire/sqlite.h"

namespace holdfast::internal {

struct StoreOptions {
  std::filesystem::path path;
  bool sync_every_commit = false;  // ?sync=full
};

// From sqlite:///absolute/path?sync=full or sqlite:relative/path.
Result<StoreOptions> store_options(const Url& url);

// Creates the file (readable by its owner alone) if it is missing; refuses network file systems,
// where neither file locks nor wake-ups can be trusted.
Result<void> prepare_file(const std::filesystem::path& path);

// Creates the tables if they are missing. On the first use after a reboot it clears all holders
// and waiters (their processes are gone) and moves every token ahead: after a power cut the last
// commits may be missing, and their tokens must not be given out again.
void prepare_tables(sqlite::Database& database, const StoreOptions& options);

}  // namespace holdfast::internal
