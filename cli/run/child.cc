#include "child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "isolation.h"

namespace holdfast::cli {
namespace {

// Away from the numbers that shell scripts use for themselves.
constexpr int kFirstQuietDescriptor = 100;

void keep_open(int descriptor) {
  if (fcntl(descriptor, F_DUPFD, kFirstQuietDescriptor) >= 0) return;
  fcntl(descriptor, F_SETFD, 0);  // The limit of descriptors is low: keep the number it has.
}

void take_terminal() {
  const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
  if (terminal < 0) return;
  tcsetpgrp(terminal, getpgrp());  // SIGTTOU is blocked: we may do it from the background.
  close(terminal);
}

[[noreturn]] void give_up(int report, const StartError& why) {
  [[maybe_unused]] const ssize_t written = write(report, &why, sizeof why);
  _exit(127);
}

[[noreturn]] void become(const Command& command, pid_t guard, int liveness, bool foreground,
                         int report) {
  setpgid(0, 0);
  if (foreground) take_terminal();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have died before the line above. (In a namespace init dies with it, and we with init.)
  if (!command.isolate && getppid() != guard) _exit(1);
  if (command.isolate) {
    if (const int error = mount_own_proc(); error != 0) give_up(report, {error, true});
  }
  if (liveness >= 0) keep_open(liveness);
  if (command.output_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
  // putenv keeps the pointer; we exec or exit before the strings end.
  for (const std::string& variable : command.variables) putenv(const_cast<char*>(variable.c_str()));
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  sigaction(SIGCHLD, &command.on_child, nullptr);
  sigaction(SIGXFSZ, &command.on_file_size, nullptr);
  sigprocmask(SIG_SETMASK, &command.mask, nullptr);
  execvp(words[0], words.data());
  give_up(report, {errno, false});
}

}  // namespace

Child start_child(const Command& command, int liveness, bool foreground) {
  int report[2];
  if (pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0) return {};
  const pid_t guard = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(command, guard, liveness, foreground, report[1]);
  const int error = errno;
  close(report[1]);
  if (pid < 0) {
    close(report[0]);
    errno = error;
    return {};
  }
  setpgid(pid, pid);  // Both sides do it: whoever comes first, signals to the group arrive.
  return {pid, report[0]};
}

}  // namespace holdfast::cli
