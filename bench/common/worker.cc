#include "worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "process.h"

namespace holdfast::bench {

namespace {

[[noreturn]] void fail_with_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Worker::Worker(const std::vector<std::string>& command) : name_(command.front()) {
  std::array<int, 2> in{}, out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
    fail_with_errno("pipe2");
  }
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) fail_with_errno("fork");
  if (pid_ == 0) {
    die_with_parent(parent);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execvp(arguments.front(), arguments.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
  if (const std::string first = answer(); first != "ready") {
    throw std::runtime_error(name_ + " did not start: " + first);
  }
}

Worker::Worker(Worker&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      unread_(std::move(other.unread_)) {}

Worker::~Worker() {
  if (pid_ >= 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (input_ >= 0) close(input_);
  if (output_ >= 0) close(output_);
}

void Worker::send(const std::string& line) {
  const std::string text = line + "\n";
  if (write(input_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    fail_with_errno(name_.c_str());
  }
}

std::string Worker::answer(Seconds within) {
  const auto latest = std::chrono::steady_clock::now() + within;
  for (std::size_t searched = 0;;) {
    if (const std::size_t end = unread_.find('\n', searched); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      if (line.starts_with("failed: ")) throw std::runtime_error(name_ + " " + line);
      return line;
    }
    searched = unread_.size();
    pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
    std::array<char, 1 << 16> bytes{};
    const Seconds left = latest - std::chrono::steady_clock::now();
    const int left_ms = std::max(0, static_cast<int>(left.count() * 1e3));
    if (poll(&ready, 1, left_ms) <= 0) throw std::runtime_error(name_ + " is silent");
    const ssize_t size = read(output_, bytes.data(), bytes.size());
    if (size <= 0) throw std::runtime_error(name_ + " has ended too early");
    unread_.append(bytes.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace holdfast::bench
