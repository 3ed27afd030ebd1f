// Ownership: whose files a lock database may consist of. In a directory that several users can
// write to (/tmp), another user can create a file under one of our names before we do: its owner
// could then read, change, lock or replace what we rely on.
//
//                   of one user                          of a group (?group=NAME)
//   owner           the user, or root                    any member, or root
//   group           any                                  that group
//   files           no more writers than the database    mode 0660, one name each
//   its directory   not writable by everybody, or sticky mode 2770, nobody else's
//   symbolic link   to the database itself, of our own   never
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

#include "engines/sqlite/shared_group.h"

namespace holdfast::internal {

// Which owner and which permissions a file may have. One policy governs all files of a database.
struct Ownership {
  uid_t user = 0;  // may own them; root may as well
  // Write permissions beyond the owner's that a file may grant: bits of S_IWGRP | S_IWOTH.
  mode_t writers = 0;
  // Whose members share the database. Then their files have one mode, and `writers` means nothing.
  std::optional<SharedGroup> group;

  // This process's own files. A group may write to the database file if its owner has said so by
  // the file's mode; the files beside it must not be open to more users than the database is.
  static Ownership of_this_process(std::optional<SharedGroup> group = std::nullopt);
  Ownership beside(const struct stat& database) const;
};

// The status of a path; a symbolic link is not followed. Nothing if there is nothing. Throws
// sqlite::Error.
std::optional<struct stat> status_of(const std::string& path);

// A file as it was found by its name: what is checked is what stays open. O_PATH, because closing
// any other descriptor of a file would free the locks that SQLite holds on it in this process.
class PinnedFile {
 public:
  // Not open if there is no such file. Never follows a symbolic link. Throws sqlite::Error.
  explicit PinnedFile(const std::string& path);
  ~PinnedFile();
  PinnedFile(PinnedFile&& other) noexcept;
  PinnedFile& operator=(PinnedFile&&) = delete;

  bool found() const { return descriptor_ >= 0; }
  const std::string& path() const { return path_; }
  const struct stat& status() const { return status_; }
  // True while the name leads to this very file.
  bool in_place() const;

 private:
  std::string path_;
  int descriptor_;
  struct stat status_{};
};

bool trusted(uid_t owner, const Ownership& ownership);
// These throw sqlite::Error (refused), naming the file, its owner and what to do.
void require_owner(const struct stat& file, const std::string& path, const Ownership& ownership);
void require_file(const struct stat& file, const std::string& path, const Ownership& ownership);
void require_directory(const struct stat& file, const std::string& path,
                       const Ownership& ownership);
// The directory that contains the database: nobody else may be able to replace files in it. The
// sticky bit (as on /tmp) prevents that.
void require_parent(const std::filesystem::path& database, const Ownership& ownership);

}  // namespace holdfast::internal
