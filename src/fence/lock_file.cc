#include "fence/lock_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <vector>

#include "fence/files.h"

namespace holdfast::internal::fence {

namespace {

// The descriptors that a forked child must close. fork() waits for the mutex, so that no
// descriptor is open and not yet listed at that moment. Never destroyed: a gate may be used, and
// the process may fork, while static objects are torn down.
struct OpenFiles {
  std::mutex mutex;
  std::vector<int> descriptors;
};

OpenFiles& open_files();

void before_fork() { open_files().mutex.lock(); }
void after_fork_in_parent() { open_files().mutex.unlock(); }
void after_fork_in_child() {
  for (const int fd : open_files().descriptors) ::close(fd);
  open_files().descriptors.clear();
  open_files().mutex.unlock();
}

OpenFiles& open_files() {
  static OpenFiles* const files = [] {
    static_cast<void>(ForkWatch());  // registers its own handler here, not under our mutex
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return new OpenFiles;
  }();
  return *files;
}

int open_listed(const std::filesystem::path& path, int flags) {
  OpenFiles& files = open_files();
  const std::lock_guard guard(files.mutex);
  // O_NONBLOCK: a FIFO by that name must not make us wait for a writer.
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
  if (fd >= 0) files.descriptors.push_back(fd);
  return fd;
}

void close_listed(int fd) {
  OpenFiles& files = open_files();
  const std::lock_guard guard(files.mutex);
  std::erase(files.descriptors, fd);
  ::close(fd);
}

struct flock one_byte(short type, off_t byte) {
  struct flock range{};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return range;
}

bool deleted(const std::filesystem::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) != 0 && errno == ENOENT;
}

Failure deleted_in_use(const std::filesystem::path& path) {
  return {Code::misconfigured,
          path.string() +
              " was there when the gate was opened and has been deleted: put it back, or stop "
              "everything that uses the resource and open the gate again"};
}

}  // namespace

Result<LockFile> LockFile::open(const std::filesystem::path& path, int flags) {
  const int fd = open_listed(path, flags);
  if (fd < 0) return file_failure("open", path, errno);
  LockFile file(path, fd);
  struct stat status{};
  if (::fstat(fd, &status) != 0) return file_failure("look at", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return Failure(Code::misconfigured, path.string() + " is not a regular file: choose another");
  }
  return file;
}

Result<LockFile> LockFile::open_locked(const std::filesystem::path& path, off_t byte) {
  for (;;) {
    auto file = open(path, O_RDWR);
    if (!file) return deleted(path) ? deleted_in_use(path) : file.failure();
    if (auto locked = file->lock(byte, Share::exclusive); !locked) return locked.failure();
    // While we waited, somebody may have put another file in place: that one counts.
    if (file->in_place()) return file;
  }
}

LockFile::~LockFile() {
  if (fd_ < 0 || fork_.forked()) return;
  // Unlock before close: a child on its way from vfork to exec still has a copy of the descriptor.
  struct flock everything{};
  everything.l_type = F_UNLCK;
  ::fcntl(fd_, F_OFD_SETLK, &everything);
  close_listed(fd_);
}

Result<void> LockFile::lock(off_t byte, Share share) const {
  struct flock range = one_byte(share == Share::exclusive ? F_WRLCK : F_RDLCK, byte);
  while (::fcntl(fd_, F_OFD_SETLKW, &range) != 0) {
    if (errno != EINTR) return file_failure("lock", path_, errno);
  }
  return {};
}

void LockFile::unlock(off_t byte) const {
  struct flock range = one_byte(F_UNLCK, byte);
  ::fcntl(fd_, F_OFD_SETLK, &range);  // cannot fail on a range of our own
}

bool LockFile::in_place() const {
  struct stat mine{};
  struct stat there{};
  return ::fstat(fd_, &mine) == 0 && ::stat(path_.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

}  // namespace holdfast::internal::fence
