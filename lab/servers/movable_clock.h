// MovableClock: the clocks of a process that a test started, to be set at any time while it runs.
//
//   MovableClock clock(directory / "clock");
//   ServerProcess server(command, log, clock.environment());
//   clock.jump(1h);                                   // ahead; a negative span: back
//
// Moved are the wall clock (CLOCK_REALTIME, gettimeofday, time) and, apart from it, the monotonic
// one; not CLOCK_BOOTTIME, by which Holdfast's leases end. Programs that ask the kernel by
// themselves (Go) do not notice. The clocks also survive a restart of the process.
//
// The same library can stall the disk of the process: see stall_disk().
//
// Thread safety: all of it.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "clock_offsets.h"

namespace holdfast::test {

class MovableClock {
 public:
  using Micros = std::chrono::microseconds;

  // Creates the file, with the right time. Throws std::system_error.
  explicit MovableClock(std::filesystem::path file);
  ~MovableClock();
  MovableClock(const MovableClock&) = delete;
  MovableClock& operator=(const MovableClock&) = delete;

  // The environment of a process that follows this clock: "LD_PRELOAD=…" and so on.
  std::vector<std::string> environment() const;

  void jump(Micros by) { offsets_->wall_us += by.count(); }
  void jump_monotonic(Micros by) { offsets_->monotonic_us += by.count(); }
  // While true, fsync() and fdatasync() of the process do not return. Processes that make system calls
  // by themselves (Go) and writes that nobody syncs are not stalled.
  void stall_disk(bool stalled) { offsets_->disk_stalls = stalled ? 1 : 0; }
  // How far it is ahead of the true wall clock.
  Micros offset() const { return Micros(offsets_->wall_us.load()); }

 private:
  std::filesystem::path file_;
  ClockOffsets* offsets_;
};

}  // namespace holdfast::test
