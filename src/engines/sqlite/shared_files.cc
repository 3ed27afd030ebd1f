#include "engines/sqlite/shared_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace holdfast::internal {

namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

bool exists(const std::string& path) {
  struct stat found{};
  return lstat(path.c_str(), &found) == 0;
}

// 0, or why it is not shared. Closes the descriptor.
int share(int descriptor, gid_t group, mode_t mode) {
  int error = 0;
  // The mode comes second: to change the group takes the bit away that hands it on.
  if (fchown(descriptor, static_cast<uid_t>(-1), group) != 0 || fchmod(descriptor, mode) != 0) {
    error = errno;
  }
  close(descriptor);
  return error;
}

// Somebody else may have been sooner; then theirs stays.
int publish(const std::string& made, const std::string& path) {
  const int result = renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
  return result == 0 ? 0 : errno;
}

}  // namespace

void make_shared_file(const std::string& path, const SharedGroup& group) {
  if (exists(path)) return;
  std::string made = path + "-new-XXXXXX";
  const int descriptor = mkostemp(made.data(), O_CLOEXEC);
  if (descriptor < 0) fail(errno, path);
  int error = share(descriptor, group.id(), kSharedFile);
  if (error == 0) error = publish(made, path);
  if (error != 0) unlink(made.c_str());
  if (error != 0 && error != EEXIST) fail(error, path);
}

void make_shared_directory(const std::string& path, const SharedGroup& group) {
  if (exists(path)) return;
  std::string made = path + "-new-XXXXXX";
  if (mkdtemp(made.data()) == nullptr) fail(errno, path);
  const int descriptor = open(made.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int error = descriptor < 0 ? errno : share(descriptor, group.id(), kSharedDirectory);
  if (error == 0) error = publish(made, path);
  if (error != 0) rmdir(made.c_str());
  if (error != 0 && error != EEXIST) fail(error, path);
}

void share_socket(const std::string& path) {
  const int descriptor = open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) fail(errno, path);
  struct stat found{};
  int error = fstat(descriptor, &found) == 0 ? 0 : errno;
  // A member may have put something else in its place, such as a second name of another file of ours.
  const bool ours = S_ISSOCK(found.st_mode) && found.st_uid == geteuid() && found.st_nlink == 1;
  if (error == 0 && !ours) error = EPERM;
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(descriptor);
  if (error == 0 && chmod(by_descriptor.c_str(), kSharedFile) != 0) error = errno;
  close(descriptor);
  if (error != 0) fail(error, path);
}

}  // namespace holdfast::internal
