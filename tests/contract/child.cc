#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <utility>

extern char** environ;  // NOLINT: POSIX

namespace holdfast::contract {

namespace {

constexpr int kAnswerWithinMs = 60'000;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    read = ends[0];
    write = ends[1];
  }
  int read = -1;
  int write = -1;
};

}  // namespace

Child::Child(const std::string& url, std::vector<std::string> environment) {
  const Pipe in;
  const Pipe out;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  std::string program = HOLDFAST_CONTRACT_CHILD;
  std::string argument = url;
  std::array<char*, 3> arguments{program.data(), argument.data(), nullptr};
  std::vector<char*> variables;
  for (std::string& variable : environment) variables.push_back(variable.data());
  for (char** own = environ; *own != nullptr; ++own) variables.push_back(*own);
  variables.push_back(nullptr);
  const int error =
      posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  close(in.read);
  close(out.write);
  input_ = in.write;
  output_ = out.read;
  if (error != 0) pid_ = -1;
  const std::string first = answer();
  if (first != "ready") {
    kill();
    close_pipes();
    throw std::runtime_error("contract_child did not start: " + first);
  }
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      unread_(std::move(other.unread_)) {}

Child::~Child() {
  kill();
  close_pipes();
}

void Child::close_pipes() {
  if (input_ >= 0) close(std::exchange(input_, -1));
  if (output_ >= 0) close(std::exchange(output_, -1));
}

void Child::send(const std::string& line) {
  const std::string text = line + "\n";
  // A child that is gone answers nothing; the test sees that. No SIGPIPE: gtest would die of it.
  const auto before = signal(SIGPIPE, SIG_IGN);
  static_cast<void>(!write(input_, text.data(), text.size()));
  signal(SIGPIPE, before);
}

std::string Child::answer() {
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kAnswerWithinMs) <= 0) return "(no answer)";
    std::array<char, 4096> bytes{};
    const ssize_t size = read(output_, bytes.data(), bytes.size());
    if (size <= 0) return "(no answer)";
    unread_.append(bytes.data(), static_cast<std::size_t>(size));
  }
}

std::string Child::command(const std::string& verb, const std::string& name, Duration ttl) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(ttl).count();
  return verb + " " + name + " " + std::to_string(ms);
}

void Child::stop() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  waitpid(pid_, &status, WUNTRACED);
}

void Child::resume() { ::kill(pid_, SIGCONT); }

void Child::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
}

int Child::finish() {
  if (input_ >= 0) close(std::exchange(input_, -1));
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace holdfast::contract
