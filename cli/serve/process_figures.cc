#include "serve/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace holdfast::cli::serve {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double open_fds() {
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  double count = -1;  // the one by which we look
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error))
    ++count;
  return count < 0 ? 0 : count;
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all_pages = 0;
  double resident_pages = 0;
  if (!(file >> all_pages >> resident_pages)) return 0;
  return resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

ProcessFigures ProcessFigures::read() {
  ProcessFigures figures{.open_fds = serve::open_fds(), .resident_bytes = serve::resident_bytes()};
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0)
    figures.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.max_fds = static_cast<double>(limit.rlim_cur);
  return figures;
}

}  // namespace holdfast::cli::serve
