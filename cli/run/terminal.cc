#include "terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace holdfast::cli {

Terminal::Terminal() : descriptor_(open("/dev/tty", O_RDWR | O_CLOEXEC)) {}

Terminal::~Terminal() {
  take_back();
  if (descriptor_ >= 0) close(descriptor_);
}

bool Terminal::is_ours() const { return exists() && tcgetpgrp(descriptor_) == getpgrp(); }

bool Terminal::is_interactive() const {
  return is_ours() && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

void Terminal::give(pid_t group) {
  if (!exists()) return;
  tcsetpgrp(descriptor_, group);  // Fails if the group is gone, having had the terminal or not:
  given_to_ = group;              // take_back() looks who has it.
}

void Terminal::take_back() {
  if (!is_given()) return;
  if (tcgetpgrp(descriptor_) == given_to_) tcsetpgrp(descriptor_, getpgrp());
  given_to_ = 0;
}

void Terminal::stop_ourselves(int signal) {
  sigset_t only;
  sigset_t before;
  sigemptyset(&only);
  sigaddset(&only, signal);
  kill(0, signal);  // The whole group: a script that called us stops too, as after Ctrl-Z.
  pthread_sigmask(SIG_UNBLOCK, &only, &before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace holdfast::cli
