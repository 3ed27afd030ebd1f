#include "process.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

void redirect(const std::string& path, int flags, int descriptor) {
  const int file = open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(99);
}

void set_environment(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    if (value.empty()) {
      unsetenv(name.c_str());
    } else {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
}

// The third field of /proc/PID/stat ff.: state and parent.
std::string stat_after_name(pid_t pid) {
  const std::string line = read_all("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = line.rfind(") ");
  return end == std::string::npos ? "" : line.substr(end + 2);
}

}  // namespace

Process::Process(std::vector<std::string> arguments, const ProcessOptions& options) {
  char pattern[] = "/tmp/holdfast-process-XXXXXX";
  directory_ = mkdtemp(pattern);
  std::ofstream(directory_ + "/in") << options.input;
  pid_ = fork();
  if (pid_ != 0) return;

  if (options.own_group) setpgid(0, 0);
  if (options.ignore_hangup) signal(SIGHUP, SIG_IGN);
  if (options.terminal.empty()) {
    redirect(directory_ + "/in", O_RDONLY, 0);
    redirect(directory_ + "/out", O_WRONLY | O_CREAT, 1);
    redirect(directory_ + "/err", O_WRONLY | O_CREAT, 2);
  } else {
    setsid();
    for (const int descriptor : {0, 1, 2}) redirect(options.terminal, O_RDWR, descriptor);
    ioctl(0, TIOCSCTTY, 0);
  }
  set_environment(options.environment);
  if (options.as_nobody && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(98);
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  // The runner of the tests may ignore them (a job of a script), and exec would pass it on.
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU}) {
    ::signal(signal, SIG_DFL);
  }
  execvp(words[0], words.data());
  _exit(97);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      status_(other.status_),
      directory_(std::move(other.directory_)) {}

Process::~Process() {
  if (pid_ > 0 && !status_) {
    ::kill(pid_, SIGKILL);
    ::kill(pid_, SIGCONT);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

void Process::kill(int signal) const { ::kill(pid_, signal); }

bool Process::running() {
  if (status_) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  status_ = status;
  return false;
}

Output Process::wait(std::chrono::seconds patience) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (running()) {
    if (std::chrono::steady_clock::now() > limit) {
      ADD_FAILURE() << "still running after " << patience.count() << " s: " << err();
      kill(SIGKILL);
      kill(SIGCONT);
      int status = 0;
      waitpid(pid_, &status, 0);
      status_ = status;
      break;
    }
    std::this_thread::sleep_for(2ms);
  }
  const int code = WIFSIGNALED(*status_) ? 1000 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
  return {code, out(), err()};
}

std::string Process::out() const { return read_all(directory_ + "/out"); }
std::string Process::err() const { return read_all(directory_ + "/err"); }

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t candidate = std::atoi(entry.path().filename().c_str());
    if (candidate <= 0) continue;
    const std::string stat = stat_after_name(candidate);
    if (stat.size() > 2 && std::atoi(stat.c_str() + 2) == pid) children.push_back(candidate);
  }
  return children;
}

std::string name_of(pid_t pid) {
  std::string name = read_all("/proc/" + std::to_string(pid) + "/comm");
  if (!name.empty()) name.pop_back();
  return name;
}

bool is_alive(pid_t pid) {
  const std::string stat = stat_after_name(pid);
  return !stat.empty() && stat[0] != 'Z' && stat[0] != 'X';
}

bool eventually(const std::function<bool()>& condition, std::chrono::seconds patience) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

}  // namespace holdfast::test
