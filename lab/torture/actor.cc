#include "lab/torture/actor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

// So long Ctrl-C may take.
constexpr Duration kSlice = 50ms;

// In the child of a process with threads: only async-signal-safe calls.
[[noreturn]] void become_client(int input, int output, char* const* environment, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(96);
  setpgid(0, 0);  // Ctrl-C is the experimenter's
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0) _exit(99);
  close_range(3, ~0U, 0);
  for (int number = 1; number < SIGRTMAX; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  static char program[] = "holdfast";
  static char command[] = "torture-client";
  char* words[] = {program, command, nullptr};
  execve("/proc/self/exe", words, environment);
  _exit(97);
}

void close_both(int (&pair)[2]) {
  for (const int end : pair) {
    if (end >= 0) close(end);
  }
}

}  // namespace

void sleep_for(Duration span, const std::stop_token& stop) {
  const BootTime end = BootClock::now() + span;
  for (;;) {
    if (stop.stop_requested()) throw Interrupted();
    const Duration left = end - BootClock::now();
    if (left <= Duration::zero()) return;
    std::this_thread::sleep_for(std::min<Duration>(left, kSlice));
  }
}

Actor::Actor(std::string name, std::filesystem::path folder, HistoryFile& history,
             std::stop_token stop, const std::vector<std::string>& environment)
    : name_(std::move(name)),
      folder_(std::move(folder)),
      history_(history),
      stop_(std::move(stop)) {
  std::vector<std::string> own = environment;
  std::vector<char*> variables;
  for (std::string& variable : own) variables.push_back(variable.data());
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    variables.push_back(*inherited);
  }
  variables.push_back(nullptr);
  int down[2] = {-1, -1};
  int up[2] = {-1, -1};
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) {
    close_both(down);
    throw Trouble("out of file descriptors");
  }
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become_client(down[0], up[1], variables.data(), parent);
  close(down[0]);
  close(up[1]);
  to_ = down[1];
  from_ = up[0];
  if (pid_ < 0) throw Trouble(std::string("cannot start a process: ") + std::strerror(errno));
}

Actor::~Actor() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(to_);
  close(from_);
}

void Actor::open(const std::string& lock, const std::string& url, const std::string& recipe) {
  const std::string reply =
      ask("open " + name_ + " " + folder_.string() + " " + lock + " " + recipe + " " + url);
  if (reply != "ready") throw Trouble(name_ + ": " + reply);
}

void Actor::tell(const std::string& line) {
  const std::string text = line + "\n";
  // A pipe takes a line at once: its reader is at most one line behind.
  if (write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw Trouble(name_ + " has ended by itself");
  }
}

bool Actor::poll_input(Duration limit) {
  const BootTime end = BootClock::now() + limit;
  while (input_.find('\n') == std::string::npos) {
    if (stop_.stop_requested()) throw Interrupted();
    const Duration left = std::clamp<Duration>(end - BootClock::now(), 0ms, kSlice);
    pollfd ready{from_, POLLIN, 0};
    const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    const int count = poll(&ready, 1, static_cast<int>(left_ms));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 && BootClock::now() >= end) return false;
    if (count <= 0) continue;
    char bytes[4096];
    const ssize_t size = read(from_, bytes, sizeof bytes);
    if (size <= 0) throw Trouble(name_ + " has ended by itself");
    input_.append(bytes, static_cast<std::size_t>(size));
  }
  return true;
}

bool Actor::answers_within(Duration limit) { return poll_input(limit); }

std::string Actor::answer(Duration limit) {
  if (!poll_input(limit)) {
    throw Trouble(
        name_ + " did not answer within " +
        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()) +
        " ms");
  }
  const std::size_t end = input_.find('\n');
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  if (line.starts_with("failed ")) throw Trouble(name_ + ": " + line.substr(7));
  return line;
}

std::string Actor::ask(const std::string& line, Duration limit) {
  tell(line);
  return answer(limit);
}

void Actor::stop(const std::string& point) {
  history_.add({.who = name_, .kind = EventKind::paused, .text = point});
  ::kill(pid_, SIGSTOP);
  stopped_from_outside_ = true;
  wait_until_stopped();
}

bool Actor::is_stopped() {
  siginfo_t info{};
  const int result =
      waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT);
  if (result == 0 && info.si_pid == pid_ && info.si_code != CLD_STOPPED) {
    throw Trouble(name_ + " has ended by itself");
  }
  return result == 0 && info.si_pid == pid_;
}

void Actor::wait_until_stopped() {
  const BootTime end = BootClock::now() + 60s;
  while (!is_stopped()) {
    if (BootClock::now() > end) throw Trouble(name_ + " does not stop");
    sleep_for(1ms, stop_);
  }
}

void Actor::resume() {
  // The stop is reaped, so that the next one is seen as a new one.
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG);
  if (stopped_from_outside_) {
    history_.add({.who = name_, .kind = EventKind::resumed});
    stopped_from_outside_ = false;
  }
  ::kill(pid_, SIGCONT);
}

void Actor::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  history_.add({.who = name_, .kind = EventKind::died});
}

}  // namespace holdfast::lab
