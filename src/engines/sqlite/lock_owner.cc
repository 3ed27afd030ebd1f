#include "engines/sqlite/lock_owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "base/process.h"
#include "base/text.h"

namespace holdfast::internal {

namespace {

constexpr std::size_t kNameBytes = 40;

// 0: nobody, or nobody that can be seen from here.
std::int64_t holder_of_write_lock(const std::string& path) {
  struct stat file{};
  if (stat(path.c_str(), &file) != 0) return 0;
  // "3: POSIX  ADVISORY  WRITE 4711 fe:00:9986049 120 120"; waiting requests begin with "->". The
  // device is left out: on some file systems it differs from the one that stat() tells.
  const std::string inode = ":" + std::to_string(file.st_ino);
  std::istringstream locks(read_proc("/proc/locks"));
  std::string line;
  while (std::getline(locks, line)) {
    std::istringstream words(line);
    std::string number, kind, strictness, mode, place;
    std::int64_t pid = 0;
    words >> number >> kind >> strictness >> mode >> pid >> place;
    if (kind == "POSIX" && mode == "WRITE" && place.ends_with(inode) && pid != getpid()) return pid;
  }
  return 0;
}

}  // namespace

std::string process_name(std::int64_t pid) {
  if (pid <= 0) return "another process";
  const std::string name = first_line(read_proc("/proc/" + std::to_string(pid) + "/comm"));
  const std::string known = "process " + std::to_string(pid);
  return name.empty() ? known : known + " (" + printable(name, kNameBytes) + ")";
}

std::string writer_of(const std::filesystem::path& database) {
  // In WAL mode the writer's lock is on the index of the log.
  for (const char* suffix : {"-shm", ""}) {
    const std::int64_t pid = holder_of_write_lock(database.string() + suffix);
    if (pid > 0) return process_name(pid);
  }
  return process_name(0);
}

}  // namespace holdfast::internal
