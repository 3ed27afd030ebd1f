#include "base/exhausted.h"

#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace holdfast::internal {

namespace {

std::string value_of(decltype(RLIMIT_NOFILE) resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return std::to_string(limit.rlim_cur);
}

}  // namespace

std::optional<std::string> exceeded_limit(int error) {
  switch (error) {
    case EMFILE:
      return "this process may not open more files: its limit (ulimit -n, RLIMIT_NOFILE) is " +
             value_of(RLIMIT_NOFILE) + "; raise it to 64 or more";
    case ENFILE: return "the machine has too many open files; raise sysctl fs.file-max";
    case EFBIG:
      return "the file would become larger than this process may write: its limit (ulimit -f) is " +
             value_of(RLIMIT_FSIZE) + " bytes; raise it";
    default: return std::nullopt;
  }
}

std::string describe_error(int error) {
  if (const std::optional<std::string> limit = exceeded_limit(error)) return *limit;
  const std::string words = std::generic_category().message(error);
  if (error != ENOSPC) return words;
  return words +
         "; if no disk is full, the limit on watched descriptors is reached "
         "(fs.epoll.max_user_watches)";
}

Failure exhausted(const std::string& what, int error) {
  return Failure(Code::exhausted, what + ": " + describe_error(error));
}

Failure no_thread(int error) {
  return Failure(Code::exhausted,
                 "no more threads can be started: " + std::generic_category().message(error) +
                     "; the limit on processes is reached (ulimit -u, pids.max of the control "
                     "group) or memory is short");
}

}  // namespace holdfast::internal
