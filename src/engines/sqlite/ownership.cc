#include "engines/sqlite/ownership.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engines/sqlite/shared_files.h"
#include "wire/sqlite.h"

namespace holdfast::internal {

namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

[[noreturn]] void refuse(const std::string& why) {
  throw sqlite::Error(sqlite::Error::kRefused, why);
}

std::string permissions(mode_t mode) {
  std::string digits = "0000";
  for (int i = 0; i < 4; ++i) digits[3 - i] = static_cast<char>('0' + ((mode >> (3 * i)) & 7));
  return digits;
}

// Files that every member can open, and nobody else. Members can give names in the directory to any file that the
// system lets them link, hence the second name.
void require_shared(const struct stat& file, const std::string& path, const SharedGroup& group) {
  const bool directory = S_ISDIR(file.st_mode);
  const mode_t mode = directory ? kSharedDirectory : kSharedFile;
  const std::string now = path + " (uid " + std::to_string(file.st_uid) + ", gid " +
                          std::to_string(file.st_gid) + ", mode " + permissions(file.st_mode) +
                          ") ";
  if (file.st_gid != group.id()) {
    refuse(now + "is not of the group '" + group.name() + "'; run chgrp " + group.name() +
           " on it");
  }
  if ((file.st_mode & 07777) != mode) {
    refuse(now + "is not shared by the group '" + group.name() + "' alone; run chmod " +
           permissions(mode) + " on it");
  }
  if (!directory && file.st_nlink > 1) refuse(now + "has several hard links; leave it only one");
}

void require_writers(const struct stat& file, const std::string& path, mode_t writers) {
  if ((file.st_mode & kOthersWrite & ~writers) == 0) return;
  refuse(path + " (uid " + std::to_string(file.st_uid) + ", mode " + permissions(file.st_mode) +
         ") can be written by other users; run chmod go-w on it");
}

}  // namespace

Ownership Ownership::of_this_process(std::optional<SharedGroup> group) {
  return {.user = geteuid(), .writers = S_IWGRP, .group = std::move(group)};
}

Ownership Ownership::beside(const struct stat& database) const {
  return {.user = user, .writers = writers & database.st_mode, .group = group};
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) == 0) return status;
  if (errno == ENOENT) return std::nullopt;
  refuse(path + " cannot be examined (" + std::strerror(errno) + ")");
}

PinnedFile::PinnedFile(const std::string& path)
    : path_(path), descriptor_(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)) {
  if (descriptor_ < 0) {
    if (errno == ENOENT) return;
    sqlite::throw_at_limit(errno);
    refuse(path + " cannot be opened (" + std::strerror(errno) + ")");
  }
  if (fstat(descriptor_, &status_) == 0) return;
  const int error = errno;
  close(descriptor_);
  refuse(path + " cannot be examined (" + std::strerror(error) + ")");
}

PinnedFile::~PinnedFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

PinnedFile::PinnedFile(PinnedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      status_(other.status_) {}

bool PinnedFile::in_place() const {
  struct stat now{};
  // A directory that we may not enter any more, after privileges were dropped, tells nothing.
  if (lstat(path_.c_str(), &now) != 0) return errno != ENOENT && errno != ENOTDIR;
  return now.st_dev == status_.st_dev && now.st_ino == status_.st_ino;
}

bool trusted(uid_t owner, const Ownership& ownership) {
  return owner == ownership.user || owner == 0 || (ownership.group && ownership.group->has(owner));
}

void require_owner(const struct stat& file, const std::string& path, const Ownership& ownership) {
  if (trusted(file.st_uid, ownership)) return;
  if (ownership.group) {
    refuse(path + " belongs to uid " + std::to_string(file.st_uid) +
           ", who is neither root nor in the group '" + ownership.group->name() +
           "'; remove it if somebody planted it, or add its owner to the group");
  }
  refuse(path + " belongs to uid " + std::to_string(file.st_uid) + ", not to uid " +
         std::to_string(ownership.user) +
         " of this process or to root; run as its owner, or put the database into a directory of "
         "your own (if somebody planted the file, remove it)");
}

void require_file(const struct stat& file, const std::string& path, const Ownership& ownership) {
  // The owner first: a stranger's symbolic link is a stranger's file.
  require_owner(file, path, ownership);
  if (!S_ISREG(file.st_mode)) refuse(path + " is not a regular file; remove it");
  if (ownership.group) return require_shared(file, path, *ownership.group);
  require_writers(file, path, ownership.writers);
}

void require_directory(const struct stat& file, const std::string& path,
                       const Ownership& ownership) {
  require_owner(file, path, ownership);
  if (!S_ISDIR(file.st_mode)) refuse(path + " is not a directory; remove it");
  if (ownership.group) return require_shared(file, path, *ownership.group);
  require_writers(file, path, ownership.writers);
}

void require_parent(const std::filesystem::path& database, const Ownership& ownership) {
  const std::string path = database.parent_path().string();
  const std::optional<struct stat> found = status_of(path);
  if (!found) refuse(path + " does not exist");
  const struct stat& status = *found;
  if (ownership.group) return require_directory(status, "its directory " + path, ownership);
  if (!trusted(status.st_uid, ownership)) {
    refuse("its directory " + path + " belongs to uid " + std::to_string(status.st_uid) +
           ", who can replace the database; use a directory of uid " +
           std::to_string(ownership.user) + " or of root");
  }
  if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0) {
    refuse("its directory " + path + " (mode " + permissions(status.st_mode) +
           ") lets every user replace the database; run chmod o-w or chmod +t on it, or use a "
           "directory of your own");
  }
}

}  // namespace holdfast::internal
