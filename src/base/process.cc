#include "base/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace holdfast::internal {

std::string read_proc(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  std::string text;
  char part[1024];
  for (ssize_t size = 0; (size = read(descriptor, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(size));
  }
  close(descriptor);
  return text;
}

std::int64_t start_time_of(std::int64_t pid) {
  const std::string text = read_proc("/proc/" + std::to_string(pid) + "/stat");
  // The second field is the program's name in parentheses and may contain anything; the fields
  // after the last parenthesis are numbers, the start time is the 22nd.
  const char* place = std::strrchr(text.c_str(), ')');
  for (int field = 2; place && field < 22; ++field) place = std::strchr(place + 1, ' ');
  return place ? std::strtoll(place + 1, nullptr, 10) : 0;
}

bool boot_clock_is_shifted() {
  // "boottime SECONDS NANOSECONDS", a line among others.
  const std::string text = read_proc("/proc/self/timens_offsets");
  const std::size_t line = text.find("boottime");
  if (line == std::string::npos) return false;
  char* end = nullptr;
  const long long seconds = std::strtoll(text.c_str() + line + std::strlen("boottime"), &end, 10);
  const long long nanoseconds = std::strtoll(end, nullptr, 10);
  return seconds != 0 || nanoseconds != 0;
}

ProcessIdentity this_process() {
  struct stat space{};
  if (stat("/proc/self/ns/pid", &space) != 0) space.st_ino = 0;
  const std::int64_t pid = getpid();
  return {pid, start_time_of(pid), static_cast<std::int64_t>(space.st_ino)};
}

}  // namespace holdfast::internal
