#include "fence/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

namespace holdfast::internal::fence {

namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kModeBits = 07777;

struct Verdict {
  Code code;
  const char* advice;
};

Verdict judge(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return {Code::misconfigured,
              "give this user the right to read and write the file and its directory"};
    case EROFS:
      return {Code::misconfigured,
              "the file system is read-only: remount it writable or choose another place"};
    case ENOENT: return {Code::misconfigured, "create the directory, or correct the path"};
    case ENOTDIR:
    case ELOOP: return {Code::misconfigured, "correct the path"};
    case EISDIR: return {Code::misconfigured, "this is a directory: name a file"};
    case ENAMETOOLONG: return {Code::invalid_argument, "choose a shorter path"};
    case ENOSPC:
    case EDQUOT: return {Code::unreachable, "the disk or the quota is full: free some space"};
    case EFBIG:
      return {Code::unreachable, "the file may not grow so far: raise the limit (ulimit -f)"};
    case EMFILE:
    case ENFILE:
      return {Code::unreachable, "too many open files: close some or raise the limit (ulimit -n)"};
    case EIO: return {Code::unreachable, "the disk reports a fault: look at the kernel's log"};
    default: return {Code::unreachable, "try again once the cause is gone"};
  }
}

// Attributes that the new file takes from the one that it replaces.
struct Attributes {
  uid_t owner;
  gid_t group;
  mode_t mode;
};

Result<std::optional<Attributes>> attributes_of(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::optional<Attributes>();
    return file_failure("look at", path, errno);
  }
  return std::optional(Attributes{status.st_uid, status.st_gid, status.st_mode & kModeBits});
}

Result<void> apply(const Attributes& attributes, int fd, const std::filesystem::path& path) {
  // Only root may give files away; for anybody else the new file is simply his. Owner first:
  // changing it clears the set-id bits.
  if (::fchown(fd, attributes.owner, attributes.group) != 0 && errno != EPERM) {
    return file_failure("set the owner of", path, errno);
  }
  if (::fchmod(fd, attributes.mode) != 0) return file_failure("set the mode of", path, errno);
  return {};
}

Result<void> write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return file_failure("write", path, errno);
    }
  }
  return {};
}

// Writes the new file under its temporary name, complete and flushed.
Result<void> write_temporary(const std::filesystem::path& target,
                             const std::filesystem::path& temporary, std::string_view content) {
  auto old = attributes_of(target);
  if (!old) return old.failure();
  // O_EXCL after unlink: whatever bears that name now, a symbolic link laid by somebody else
  // included, is not written to.
  ::unlink(temporary.c_str());
  const Descriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
  if (!file) return file_failure("create", temporary, errno);
  if (auto written = write_all(file.get(), content, temporary); !written) return written;
  if (*old) {
    if (auto applied = apply(**old, file.get(), temporary); !applied) return applied;
  }
  // All of it, not only the data: the mode must not come later than the name.
  if (::fsync(file.get()) != 0) return file_failure("flush", temporary, errno);
  return {};
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Failure file_failure(std::string_view doing, const std::filesystem::path& path, int error) {
  const auto [code, advice] = judge(error);
  return {code, "cannot " + std::string(doing) + " " + path.string() + ": " +
                    std::generic_category().message(error) + "; " + advice};
}

Result<std::filesystem::path> resolved(const std::filesystem::path& path) {
  if (path.empty() || path.native().find('\0') != std::string::npos) {
    return Failure(Code::invalid_argument, "a path must not be empty or contain NUL");
  }
  std::error_code error;
  std::filesystem::path whole = std::filesystem::canonical(path, error);
  if (!error) return whole;
  if (error.value() != ENOENT) return file_failure("find", path, error.value());
  if (!path.has_filename()) return file_failure("find", path, EISDIR);

  // Not there yet; its directory must be.
  const std::filesystem::path directory =
      path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  whole = std::filesystem::canonical(directory, error);
  if (error) return file_failure("find", directory, error.value());
  return whole / path.filename();
}

std::filesystem::path with_suffix(const std::filesystem::path& path, std::string_view suffix) {
  std::filesystem::path longer = path;
  longer += suffix;
  return longer;
}

Result<void> sync_data(int fd, const std::filesystem::path& path) {
  if (::fdatasync(fd) != 0) return file_failure("flush", path, errno);
  return {};
}

Result<void> sync_directory_of(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  const Descriptor directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return file_failure("open", parent, errno);
  // EINVAL: this file system has no such thing as flushing a directory.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) {
    return file_failure("flush", parent, errno);
  }
  return {};
}

Result<std::string> read_all(int fd, const std::filesystem::path& path) {
  std::string content;
  std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read fills it
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return content;
    if (count > 0) {
      content.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return file_failure("read", path, errno);
    }
  }
}

Result<void> replace_file(const std::filesystem::path& target,
                          const std::filesystem::path& temporary, std::string_view content) {
  Result<void> written = write_temporary(target, temporary, content);
  if (written && ::rename(temporary.c_str(), target.c_str()) != 0) {
    written = file_failure("replace", target, errno);
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (auto synced = sync_directory_of(target); !synced) {
    return Failure(Code::unknown, target.string() +
                                      " has its new content, but a power cut may bring the old "
                                      "one back: " +
                                      synced.message());
  }
  return {};
}

}  // namespace holdfast::internal::fence
