// The identity of a process on this machine.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::internal {

struct ProcessIdentity {
  std::int64_t pid = 0;
  std::int64_t started = 0;    // in clock ticks since boot; tells a reused pid; 0: no such process
  std::int64_t pid_space = 0;  // the inode of the pid namespace
};

// A file in /proc; empty if there is no such file. Closed on exec, unlike a std::ifstream.
std::string read_proc(const std::string& path);
inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

ProcessIdentity this_process();
// Start time of a process in our own pid namespace; 0 if there is none.
std::int64_t start_time_of(std::int64_t pid);

// True if this process's boot clock differs from the machine's (a time namespace), so that its
// moments mean nothing to other processes.
bool boot_clock_is_shifted();

}  // namespace holdfast::internal
