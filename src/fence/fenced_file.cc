#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "fence/files.h"
#include "fence/mark.h"
#include "holdfast/fence.h"

namespace holdfast {

using internal::fence::Descriptor;
using internal::fence::file_failure;
using internal::fence::problem_with_write;
using internal::fence::read_all;
using internal::fence::replace_file;
using internal::fence::resolved;
using internal::fence::with_suffix;

namespace {

constexpr const char* kGateSuffix = ".fence";
// One name for all writers: only who is inside the gate writes, so a killed writer leaves at most
// one such file behind, and the next writer removes it.
constexpr const char* kTemporarySuffix = ".fence.new";

// replace() would turn a device or a FIFO into a file, and fail on a directory only late.
Result<void> require_regular_or_absent(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return file_failure("look at", path, errno);
  }
  if (S_ISREG(status.st_mode)) return {};
  if (S_ISDIR(status.st_mode)) return file_failure("fence", path, EISDIR);
  return Failure(Code::misconfigured, path.string() + " is not a regular file: choose another");
}

}  // namespace

Result<FencedFile> FencedFile::open(const std::filesystem::path& path) {
  auto whole_path = resolved(path);
  if (!whole_path) return whole_path.failure();
  if (auto usable = require_regular_or_absent(*whole_path); !usable) return usable.failure();
  auto gate = FenceGate::in_file(with_suffix(*whole_path, kGateSuffix));
  if (!gate) return gate.failure();
  return FencedFile(std::move(*whole_path), std::move(*gate));
}

Result<std::string> FencedFile::read(const Ticket& ticket) {
  auto pass = gate_.enter(ticket);
  if (!pass) return pass.failure();
  if (auto usable = require_regular_or_absent(path_); !usable) return usable.failure();
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file) return read_all(file.get(), path_);
  if (errno == ENOENT) return std::string();
  return file_failure("open", path_, errno);
}

// The gate first: a stale token is refused before a byte is written, and the temporary file has
// one writer. Others wait meanwhile; under the lock that the token comes from, nobody has a right
// to be here anyway.
Result<void> FencedFile::replace(const Ticket& ticket, std::string_view content) {
  if (const auto problem = problem_with_write(ticket)) return *problem;
  auto pass = gate_.enter(ticket);
  if (!pass) return pass.failure();
  if (auto usable = require_regular_or_absent(path_); !usable) return usable;
  return replace_file(path_, with_suffix(path_, kTemporarySuffix), content);
}

}  // namespace holdfast
