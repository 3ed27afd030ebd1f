#include "process_tree.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>
#include <string>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

// The entries of a directory in /proc that are numbers.
std::vector<pid_t> numbers_in(const char* path) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path), closedir);
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
    const std::string_view name(entry->d_name);
    pid_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  return numbers;
}

// "PID (comm) S PPID …": comm may contain anything, so the last ')' counts.
pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(") ");
  if (end == std::string::npos || end + 4 > line.size()) return 0;
  return static_cast<pid_t>(std::atoi(line.c_str() + end + 4));
}

// For kernels without CONFIG_PROC_CHILDREN.
std::vector<pid_t> children_by_search() {
  std::vector<pid_t> found = numbers_in("/proc");
  std::erase_if(found, [self = getpid()](pid_t pid) { return parent_of(pid) != self; });
  return found;
}

void sleep_for(Duration span) {
  timespec time{.tv_sec = span / 1s, .tv_nsec = (span % 1s).count()};
  nanosleep(&time, nullptr);
}

enum class Left { none, some, some_ended };

Left reap(pid_t main, std::optional<int>* status) {
  Left left = Left::some;
  for (;;) {
    int how = 0;
    const pid_t pid = waitpid(-1, &how, WNOHANG);
    if (pid == 0) return left;
    if (pid < 0) return errno == ECHILD ? Left::none : left;
    if (pid == main) *status = how;
    left = Left::some_ended;
  }
}

}  // namespace

std::vector<pid_t> children_of_self() {
  std::vector<pid_t> children;
  siginfo_t any{};
  if (waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) return children;
  for (const pid_t thread : numbers_in("/proc/self/task")) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/children");
    if (!file) return children_by_search();
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

bool end_all_children(std::optional<Duration> patience, const std::vector<pid_t>& spared,
                      pid_t main, std::optional<int>* status) {
  const BootTime begin = BootClock::now();
  Duration pause = 100us;
  for (;;) {
    std::vector<pid_t> targets = children_of_self();
    std::erase_if(targets, [&](pid_t pid) { return std::ranges::count(spared, pid) > 0; });
    for (const pid_t child : targets) kill(child, SIGKILL);
    const Left left = reap(main, status);
    if (left == Left::none) return true;
    // Whoever ended may have left us its children: look again at once.
    if (left == Left::some_ended) {
      pause = 100us;
      continue;
    }
    if (targets.empty() && !spared.empty()) return true;
    if (patience && BootClock::now() - begin > *patience) return false;
    sleep_for(pause);
    pause = std::min<Duration>(pause * 2, 50ms);
  }
}

}  // namespace holdfast::cli
