#include "movable_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "clock_shim_file.h"

namespace holdfast::test {
namespace {

ClockOffsets* map_new(const std::filesystem::path& file) {
  const auto fail = [&]() { throw std::system_error(errno, std::generic_category(), file); };
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) fail();
  if (ftruncate(descriptor, sizeof(ClockOffsets)) != 0) fail();
  void* const memory =
      mmap(nullptr, sizeof(ClockOffsets), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) fail();
  return static_cast<ClockOffsets*>(memory);  // A file of zeros is one at its beginning.
}

}  // namespace

MovableClock::MovableClock(std::filesystem::path file)
    : file_(std::move(file)), offsets_(map_new(file_)) {}

MovableClock::~MovableClock() { munmap(offsets_, sizeof(ClockOffsets)); }

std::vector<std::string> MovableClock::environment() const {
  return {"LD_PRELOAD=" + clock_shim_file(), kClockVariable + ("=" + file_.string()),
          // A program built with the address sanitizer wants to be first in the preload list.
          "ASAN_OPTIONS=verify_asan_link_order=0"};
}

}  // namespace holdfast::test
