#include "isolation.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace holdfast::cli {
namespace {

int write_file(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int error = write(file, text.data(), text.size()) < 0 ? errno : 0;
  close(file);
  return error;
}

// Maps our user and group to themselves: files that the command makes are ours as usual.
int map_ourselves(uid_t user, gid_t group) {
  if (const int error = write_file("/proc/self/setgroups", "deny"); error != 0) return error;
  const std::string who = std::to_string(group);
  if (const int error = write_file("/proc/self/gid_map", who + " " + who + " 1"); error != 0) {
    return error;
  }
  const std::string me = std::to_string(user);
  return write_file("/proc/self/uid_map", me + " " + me + " 1");
}

// Closes all descriptors but `kept`: a reader of the command's output must see its end.
void close_all_but(int kept) {
  if (kept > 0) syscall(SYS_close_range, 0, kept - 1, 0);
  syscall(SYS_close_range, kept + 1, ~0U, 0);
}

[[noreturn]] void serve_as_init(int guard) {
  prctl(PR_SET_NAME, "holdfast-init");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have died before the line above. (Our parent is outside: getppid() is always 0.)
  pollfd ended{guard, POLLIN, 0};
  if (poll(&ended, 1, 0) != 0) _exit(1);
  close_all_but(guard);
  sigset_t heard;
  sigemptyset(&heard);
  sigaddset(&heard, SIGCHLD);
  sigaddset(&heard, SIGTERM);
  bool ending = false;
  for (;;) {  // All signals are blocked: none is missed.
    const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
    if (sigtimedwait(&heard, nullptr, ending ? &pause : nullptr) == SIGTERM) {
      ending = true;
      kill(-1, SIGTERM);  // Everybody in the namespace but us.
      kill(-1, SIGCONT);
    }
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (ending && kill(-1, 0) != 0) _exit(0);  // Nobody is left.
  }
}

}  // namespace

int enter_isolation() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWPID) == 0) return 0;
  if (errno != EPERM || unshare(CLONE_NEWPID | CLONE_NEWUSER) != 0) return errno;
  return map_ourselves(user, group);
}

pid_t start_init() {
  const int self = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  if (self < 0) return -1;
  const pid_t init = fork();
  if (init == 0) serve_as_init(self);
  const int error = errno;
  close(self);
  errno = error;
  return init;
}

int mount_own_proc() {
  // The mount must not show outside; those made outside shall show here.
  if (unshare(CLONE_NEWNS) != 0) return errno;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return errno;
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (mount("proc", "/proc", "proc", kFlags, nullptr) == 0) return 0;
  return errno == ENOENT ? 0 : errno;  // No such directory: there was no /proc before either.
}

}  // namespace holdfast::cli
