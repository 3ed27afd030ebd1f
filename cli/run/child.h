// Starting the command: its own process group, its environment, its way out when its guard dies.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "lock_variables.h"

namespace holdfast::cli {

// The command to run, and the state of signals as we got it from our parent: the command shall see the
// same (nohup must reach it through us).
struct Command {
  std::vector<std::string> words;
  sigset_t mask{};
  struct sigaction on_child{};         // the dispositions that we change: SIGCHLD,
  struct sigaction on_file_size{};     // and SIGXFSZ
  bool output_to_stderr = false;       // --json keeps standard output for the report
  bool isolate = false;                // in a pid namespace of its own, see isolation.h
  std::vector<std::string> variables;  // NAME=value, added to the environment
  CommandLocks locks;
};

// Why the command is not there.
struct StartError {
  int error = 0;              // errno
  bool of_isolation = false;  // the namespace could not be made; else exec or fork failed
};

struct Child {
  pid_t pid = -1;
  int report = -1;  // readable when exec succeeded (end of file) or failed (a StartError)
};

// REQUIRES: one thread only; all signals blocked. `liveness`, if not negative, is left open in the
// command and inherited by its descendants. pid is -1 if fork failed (errno says why).
Child start_child(const Command& command, int liveness, bool foreground);

}  // namespace holdfast::cli
