// VdsoClock: the wall clock of a running process that does not ask libc for it (Go programs, so
// etcd), to be moved while it runs.
//
// Such a program calls the page of code that the kernel maps into each process, the vDSO. In this
// one process, its clock_gettime is replaced by a dozen instructions that ask the kernel and add an
// offset to CLOCK_REALTIME. All other clocks are left alone. Programs that a library can be
// preloaded into have MovableClock.
//
// Thread safety: one thread at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

namespace holdfast::test {

class VdsoClock {
 public:
  // Only on x86-64.
  static bool works_here();

  // Of a child of ours that runs. Throws std::runtime_error if it cannot be done.
  explicit VdsoClock(pid_t process);
  ~VdsoClock();
  VdsoClock(const VdsoClock&) = delete;
  VdsoClock& operator=(const VdsoClock&) = delete;

  void set_ahead(std::chrono::seconds by);  // of the true time; negative: behind

 private:
  void write(std::uint64_t address, const void* bytes, std::size_t size);

  int memory_ = -1;  // of the process
  std::uint64_t offset_at_ = 0;
};

}  // namespace holdfast::test
