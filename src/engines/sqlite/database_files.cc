#include "engines/sqlite/database_files.h"

namespace holdfast::internal {

DatabaseFiles::Found DatabaseFiles::check(const std::filesystem::path& database,
                                          const Ownership& ownership) {
  const std::string path = database.string();
  const std::optional<struct stat> main = status_of(path);
  if (!main) {
    return {.beside = {.user = ownership.user, .writers = 0, .group = ownership.group},
            .database = {}};
  }
  require_file(*main, path, ownership);
  Found found{.beside = ownership.beside(*main),
              .database = {.complete = main->st_size > 0,
                           .device = static_cast<std::int64_t>(main->st_dev),
                           .inode = static_cast<std::int64_t>(main->st_ino)}};
  for (const char* suffix : {"-wal", "-shm", "-live"}) {
    const std::optional<struct stat> file = status_of(path + suffix);
    if (file) require_file(*file, path + suffix, found.beside);
    if (!file && suffix != std::string_view("-live")) found.database.complete = false;
  }
  if (const std::optional<struct stat> wake = status_of(path + "-wake")) {
    require_directory(*wake, path + "-wake", found.beside);
  }
  return found;
}

DatabaseFiles::DatabaseFiles(const std::filesystem::path& database, const Ownership& ownership,
                             sqlite::Database& open)
    : database_(database.string()),
      log_(database.string() + "-wal"),
      index_(database.string() + "-shm") {
  const Ownership beside = ownership.beside(database_.status());
  for (const PinnedFile* file : {&database_, &log_, &index_}) {
    if (!file->found() || (file == &database_ && open.moved())) {
      throw sqlite::Error(sqlite::Error::kInUse,
                          file->path() + " was removed or replaced while the database was opened");
    }
    require_file(file->status(), file->path(), file == &database_ ? ownership : beside);
  }
}

std::string DatabaseFiles::replaced(BootTime now) {
  constexpr Duration kLookEvery = std::chrono::milliseconds(5);
  if (now < look_at_) return {};
  for (const PinnedFile* file : {&database_, &log_, &index_}) {
    if (!file->in_place()) return file->path();
  }
  look_at_ = now + kLookEvery;
  return {};
}

}  // namespace holdfast::internal
