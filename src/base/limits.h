// The limit of this process (ulimit) behind an error of the system: what an operator must raise.
#pragma once

#include <sys/resource.h>

#include <cerrno>
#include <optional>
#include <string>

namespace holdfast::internal {

inline std::string limit_value(decltype(RLIMIT_NOFILE) resource) {
  struct rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return std::to_string(limit.rlim_cur);
}

// None if the error is not about a limit.
inline std::optional<std::string> exceeded_limit(int error) {
  switch (error) {
    case EMFILE:
      return "this process may not open more files: its limit (ulimit -n) is " +
             limit_value(RLIMIT_NOFILE) + "; raise it to 64 or more";
    case ENFILE: return "the machine has too many open files; raise sysctl fs.file-max";
    case EFBIG:
      return "the file would become larger than this process may write: its limit (ulimit -f) is " +
             limit_value(RLIMIT_FSIZE) + " bytes; raise it";
    default: return std::nullopt;
  }
}

}  // namespace holdfast::internal
