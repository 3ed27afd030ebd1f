// A file opened for the sake of its locks, and closed in forked children.
//
// The locks are "open file description" locks of Linux (F_OFD_SETLK). Of the three kinds of file
// lock it is the one that fits a gate:
//
//   kind             two threads, two gates of a process   ranges   lost when
//   fcntl (POSIX)    do not exclude each other             yes      any descriptor of it closes
//   flock            exclude each other                    no       the last copy closes
//   OFD              exclude each other                    yes      the last copy closes
//
// "The last copy": a forked child inherits one, and would keep the gate shut after its parent was
// killed. So each LockFile is known to an atfork handler, which closes it in the child.
//
// Thread safety: distinct objects are independent; one object has one user at a time.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <utility>

#include "base/fork_watch.h"
#include "holdfast/result.h"

namespace holdfast::internal::fence {

class LockFile {
 public:
  enum class Share { exclusive, shared };

  // `flags` as for open(2): O_RDWR, with O_CREAT if it may be created (owner-only).
  static Result<LockFile> open(const std::filesystem::path& path, int flags);
  // Opens the existing file and waits for the exclusive lock on `byte`; the file is still the one
  // at `path` then. A missing file is an error: others may be waiting on the one that was deleted.
  static Result<LockFile> open_locked(const std::filesystem::path& path, off_t byte);

  LockFile(LockFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), fork_(other.fork_) {}
  LockFile& operator=(LockFile&&) = delete;
  // Unlocks everything. In a forked child it does nothing: the lock is the parent's.
  ~LockFile();

  // Waits, without a limit, until nobody else has a lock on this byte; the byte itself is a mere
  // number and need not exist. REQUIRES: this object has no lock on it.
  Result<void> lock(off_t byte, Share share) const;
  void unlock(off_t byte) const;

  // Whether path() leads to this file still, or to another that was put in its place.
  bool in_place() const;

  int fd() const { return fd_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  LockFile(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::filesystem::path path_;
  int fd_;
  ForkWatch fork_;
};

}  // namespace holdfast::internal::fence
