// What tells one process from another on this machine.
#pragma once

#include <cstdint>

namespace holdfast::internal {

struct ProcessIdentity {
  std::int64_t pid = 0;
  std::int64_t started = 0;    // in clock ticks since boot; tells a reused pid; 0: no such process
  std::int64_t pid_space = 0;  // the inode of the pid namespace
};

ProcessIdentity this_process();
// Start time of a process in our own pid namespace; 0 if there is none.
std::int64_t start_time_of(std::int64_t pid);

}  // namespace holdfast::internal
