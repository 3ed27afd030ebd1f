#include "process.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace holdfast::bench {

std::vector<int> allowed_cpus() { return allowed_cpus_of(0); }

std::vector<int> allowed_cpus_of(pid_t process) {
  cpu_set_t set{};
  sched_getaffinity(process, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

namespace {

cpu_set_t set_of(const std::vector<int>& cpus) {
  cpu_set_t set{};
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  return set;
}

}  // namespace

void pin_to_cpus(const std::vector<int>& cpus) {
  const cpu_set_t set = set_of(cpus);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    throw std::system_error(errno, std::generic_category(), "sched_setaffinity");
  }
}

void pin_process(pid_t process, const std::vector<int>& cpus) {
  const cpu_set_t set = set_of(cpus);
  const std::filesystem::path threads = "/proc/" + std::to_string(process) + "/task";
  for (const auto& thread : std::filesystem::directory_iterator(threads)) {
    // One that has just ended needs no place.
    sched_setaffinity(std::stoi(thread.path().filename()), sizeof set, &set);
  }
}

double cpu_seconds(pid_t process) {
  clockid_t clock{};
  timespec time{};
  const int error = clock_getcpuclockid(process, &clock);
  if (error != 0 || clock_gettime(clock, &time) != 0) {
    throw std::runtime_error("a process of the benchmark has ended too early");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  long pages = 0;
  file >> pages >> pages;
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

void die_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // It ended before we could ask.
}

pid_t start_process(const std::function<void()>& body) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child > 0) return child;
  die_with_parent(parent);
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "\r\033[Kbench_redis: %s\n", error.what());
    _exit(1);
  }
  _exit(0);
}

void join_process(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    throw std::runtime_error(std::string("a process of the benchmark crashed: ") +
                             strsignal(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) throw std::runtime_error("a process of the benchmark failed");
}

void* map_shared(std::size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void unmap_shared(void* memory, std::size_t size) { munmap(memory, size); }

}  // namespace holdfast::bench
