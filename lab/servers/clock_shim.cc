// A library for LD_PRELOAD that shifts what a process reads of its clocks (see movable_clock.h).
//
// The offsets are in the file that HOLDFAST_TEST_CLOCK names, mapped, so that the test moves the
// clock of a process that runs. Shifted are the functions only: the kernel's own timers (poll,
// timerfd, a condition's deadline) go on as before, as they do when an administrator sets a clock.
//
// The time comes from the kernel by system call. Asking libc's own function, found by dlsym(), is
// what hangs redis-server under libfaketime.
//
// A disk that stalls: while the file says so, fsync() and fdatasync() do not return, as on a device that
// does not answer. It stalls a server only if the server syncs what it answers.
//
// It must not need the C++ library: the processes it is loaded into may have none.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

#include "clock_offsets.h"

namespace {

using holdfast::test::ClockOffsets;
constexpr std::int64_t kMicrosPerSecond = 1'000'000;

// Null before the constructor ran, and without the variable: then nothing is shifted.
const ClockOffsets* offsets = nullptr;

__attribute__((constructor)) void map_offsets() {
  const char* const file = std::getenv(holdfast::test::kClockVariable);
  if (file == nullptr) return;
  const int descriptor = open(file, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) _exit(95);  // A server whose clock silently stands would prove anything.
  void* const memory = mmap(nullptr, sizeof(ClockOffsets), PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) _exit(95);
  offsets = static_cast<const ClockOffsets*>(memory);
}

std::int64_t offset_us(clockid_t clock) {
  if (offsets == nullptr) return 0;
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: return offsets->wall_us.load();
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW: return offsets->monotonic_us.load();
    default: return 0;
  }
}

void wait_for_the_disk() {
  const timespec slice{.tv_sec = 0, .tv_nsec = 5'000'000};
  while (offsets != nullptr && offsets->disk_stalls.load() != 0) nanosleep(&slice, nullptr);
}

}  // namespace

// Functions that take the place of libc's, by its name for the linker.
extern "C" {
int shifted_clock_gettime(clockid_t clock, timespec* now) asm("clock_gettime");
int shifted_gettimeofday(timeval* now, void* zone) asm("gettimeofday");
time_t shifted_time(time_t* now) asm("time");
int stalling_fsync(int file) asm("fsync");
int stalling_fdatasync(int file) asm("fdatasync");
}

int shifted_clock_gettime(clockid_t clock, timespec* now) {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result != 0) return static_cast<int>(result);
  const std::int64_t by_us = offset_us(clock);
  if (by_us == 0) return 0;
  std::int64_t micros = now->tv_sec * kMicrosPerSecond + now->tv_nsec / 1000 + by_us;
  const std::int64_t nanos_below = now->tv_nsec % 1000;
  if (micros < 0) micros = 0;
  now->tv_sec = micros / kMicrosPerSecond;
  now->tv_nsec = micros % kMicrosPerSecond * 1000 + nanos_below;
  return 0;
}

int shifted_gettimeofday(timeval* now, void* zone) {
  timespec wall{};
  shifted_clock_gettime(CLOCK_REALTIME, &wall);
  if (now != nullptr) *now = {.tv_sec = wall.tv_sec, .tv_usec = wall.tv_nsec / 1000};
  if (zone != nullptr) *static_cast<struct timezone*>(zone) = {};
  return 0;
}

time_t shifted_time(time_t* now) {
  timespec wall{};
  shifted_clock_gettime(CLOCK_REALTIME, &wall);
  if (now != nullptr) *now = wall.tv_sec;
  return wall.tv_sec;
}

int stalling_fsync(int file) {
  wait_for_the_disk();
  return static_cast<int>(syscall(SYS_fsync, file));
}

int stalling_fdatasync(int file) {
  wait_for_the_disk();
  return static_cast<int>(syscall(SYS_fdatasync, file));
}
