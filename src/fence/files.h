// File system calls for the fences. Every failure names the path, what the system said and
// what to do about it. Thread safety: free functions; a Descriptor has one owner.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "holdfast/result.h"

namespace holdfast::internal::fence {

// An owned file descriptor, or none (-1).
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// "cannot open /x/y: Permission denied; give this user …". `doing` is a verb: "open", "flush".
Failure file_failure(std::string_view doing, const std::filesystem::path& path, int error);

// `path` without "..", symbolic links or dependence on the working directory, so that every process
// that means the same file also names its companions (PATH.fence) alike. The file itself need not
// exist, its directory must.
Result<std::filesystem::path> resolved(const std::filesystem::path& path);

// `path` with `suffix` appended to its last component: "/x/ledger" + ".fence".
std::filesystem::path with_suffix(const std::filesystem::path& path, std::string_view suffix);

// On disk when it returns: the file's data, and the directory entry of `path`.
Result<void> sync_data(int fd, const std::filesystem::path& path);
Result<void> sync_directory_of(const std::filesystem::path& path);

Result<std::string> read_all(int fd, const std::filesystem::path& path);

// Makes `content` the whole content of `target`, atomically and durably: after a crash at any
// instant `target` has its old content or all of the new. Its permissions are kept (0600 if it is
// new), and its owner where the system allows that. On failure `target` is as it was and
// `temporary` is gone; `unknown` means: replaced, but perhaps not for good.
// REQUIRES: both paths in one directory; nobody else uses `temporary` at the same time (a leftover
// of a killed process is fine).
Result<void> replace_file(const std::filesystem::path& target,
                          const std::filesystem::path& temporary, std::string_view content);

}  // namespace holdfast::internal::fence
