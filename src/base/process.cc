#include "base/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace holdfast::internal {

std::int64_t start_time_of(std::int64_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  char text[1024];
  const ssize_t size = read(descriptor, text, sizeof text - 1);
  close(descriptor);
  if (size <= 0) return 0;
  text[size] = '\0';
  // The second field is the program's name in parentheses and may contain anything; the fields
  // after the last parenthesis are numbers, the start time is the 22nd.
  const char* place = std::strrchr(text, ')');
  for (int field = 2; place && field < 22; ++field) place = std::strchr(place + 1, ' ');
  return place ? std::strtoll(place + 1, nullptr, 10) : 0;
}

bool boot_clock_is_shifted() {
  std::ifstream file("/proc/self/timens_offsets");
  std::string clock;
  long long seconds = 0;
  long long nanoseconds = 0;
  while (file >> clock >> seconds >> nanoseconds) {
    if (clock == "boottime") return seconds != 0 || nanoseconds != 0;
  }
  return false;
}

ProcessIdentity this_process() {
  struct stat space{};
  if (stat("/proc/self/ns/pid", &space) != 0) space.st_ino = 0;
  const std::int64_t pid = getpid();
  return {pid, start_time_of(pid), static_cast<std::int64_t>(space.st_ino)};
}

}  // namespace holdfast::internal
