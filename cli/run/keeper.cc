#include "keeper.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "guard.h"
#include "process_tree.h"
#include "title.h"

namespace holdfast::cli {
namespace {

struct GuardStart {
  int runner;
  const Command& command;
  pid_t keeper;
};

int begin_guard(void* start) {
  const auto& [runner, command, keeper] = *static_cast<GuardStart*>(start);
  serve_as_guard(runner, command, keeper);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// The sanitizers know no processes that share memory.
pid_t start_guard(GuardStart& start) {
  const long pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) begin_guard(&start);
  return static_cast<pid_t>(pid);
}
#else
pid_t start_guard(GuardStart& start) {
  // Untouched pages cost nothing. It grows downwards on everything that Linux runs on today.
  alignas(64) static char stack[256 * 1024];
  return clone(&begin_guard, stack + sizeof stack, CLONE_VM | CLONE_FILES | SIGCHLD, &start);
}
#endif

}  // namespace

void keep_guard(int runner, const Command& command) {
  set_title("lock-keeper");
  prctl(PR_SET_NAME, "lock-keeper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  GuardStart start{runner, command, getpid()};
  const pid_t guard = start_guard(start);
  if (guard < 0) _exit(1);  // The runner sees the end of the socket.
  // From here on the guard runs beside us in the same memory, errno included: no more than system
  // calls that do not fail.
  setsid();  // Not before: the command must be in the session of the terminal.
  siginfo_t end{};
  while (waitid(P_PID, static_cast<id_t>(guard), &end, WEXITED) != 0) {
  }
  if (end.si_code == CLD_EXITED) _exit(0);
  std::optional<int> ignored;
  if (command.isolate) {
    reap_all_children(0, &ignored);  // Their init died with the guard.
  } else {
    end_all_children(0, &ignored);
  }
  _exit(1);
}

}  // namespace holdfast::cli
