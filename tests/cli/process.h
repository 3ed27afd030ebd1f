// Process: a child of a test, with its output in files, that is always reaped.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

struct Output {
  int status = -1;  // exit status, or 1000 + the signal that killed it
  std::string out;
  std::string err;
};

struct ProcessOptions {
  std::map<std::string, std::string> environment;  // added; an empty value removes
  std::string input;
  bool own_group = false;
  bool as_nobody = false;  // REQUIRES: root
  std::string terminal;    // run in a session of its own on this terminal
  bool ignore_hangup = false;
};

class Process {
 public:
  Process(std::vector<std::string> arguments, const ProcessOptions& options = {});
  ~Process();  // SIGKILL, if it still runs, and reap
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t pid() const { return pid_; }
  void kill(int signal) const;
  bool running();
  // Waits for its end; after `patience` it is killed and the test fails.
  Output wait(std::chrono::seconds patience = std::chrono::seconds(60));
  std::string out() const;
  std::string err() const;

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::string directory_;
};

std::string read_all(const std::string& path);
// The direct children of a process.
std::vector<pid_t> children_of(pid_t pid);
// The name of a process as the kernel shows it; empty if there is none.
std::string name_of(pid_t pid);
// True if it exists and is no zombie.
bool is_alive(pid_t pid);
// True as soon as the condition is; false when patience is over.
bool eventually(const std::function<bool()>& condition,
                std::chrono::seconds patience = std::chrono::seconds(30));

}  // namespace holdfast::test
