#include "base/exhausted.h"

#include <cerrno>
#include <system_error>

namespace holdfast::internal {

std::string describe_error(int error) {
  const std::string words = std::generic_category().message(error);
  switch (error) {
    case EMFILE:
      return words +
             "; this process has reached its limit on open files (ulimit -n, RLIMIT_NOFILE)";
    case ENFILE: return words + "; the machine has reached its limit on open files (fs.file-max)";
    case ENOSPC:
      return words + "; if no disk is full, the limit on watched descriptors is reached " +
             "(fs.epoll.max_user_watches)";
    default: return words;
  }
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
