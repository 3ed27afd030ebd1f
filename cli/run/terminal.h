// Terminal: who may read from it, as a shell does it for its jobs. The command has a process group
// of its own; without this, an editor or a prompt in it would be stopped at its first read.
//
// REQUIRES: SIGTTOU is blocked, so that we may act from the background.
#pragma once

#include <sys/types.h>

namespace holdfast::cli {

class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool exists() const { return descriptor_ >= 0; }
  // True if our own group is in the foreground: then the terminal is ours to give.
  bool is_ours() const;
  // True if the command should have it from the start. In a pipeline (`run … | less`) it must not:
  // its neighbours are in our group and would be stopped. There it gets it when it asks for it.
  bool is_interactive() const;

  bool is_given() const { return given_to_ > 0; }
  void give(pid_t group);
  // Only if the group that we gave it to still has it: the shell may have moved us meanwhile.
  void take_back();

  // Stops our own group as Ctrl-Z would, until somebody continues us. Returns at once where
  // nobody could (an orphaned group: the kernel drops the signal).
  static void stop_ourselves(int signal);

 private:
  int descriptor_;
  pid_t given_to_ = 0;
};

}  // namespace holdfast::cli
