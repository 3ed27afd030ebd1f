// The guard: a small process beside `holdfast run` that starts the command and ends it in time,
// whatever happens to the runner. The runner holds the lock and renews it; the guard holds the
// deadline. Neither trusts the other to be alive.
//
//   shell ─► runner ─(socket)─ guard ─► command ─► its descendants
//            lock, renewal     deadline, kills
//
// How it could break, and what is done about it (tests/cli has tests for 1 to 3 and 5 to 7):
//
//  1. The runner is killed (SIGKILL, out of memory). The socket ends: the guard kills everything
//     at once. Until the last process is gone, guard and descendants keep the engine's liveness
//     descriptor open, so that on one machine nobody gets in before.
//  2. The whole job is killed (kill -9 %1). The guard is in a process group of its own.
//  3. The runner is stopped or hangs. No extension comes: SIGTERM at term_at, SIGKILL at kill_at,
//     both before valid_until. Continued, the runner finds the report and returns 76.
//  4. The machine sleeps. All deadlines are on CLOCK_BOOTTIME, which goes on; poll timeouts are
//     not, hence the timerfd.
//  5. The guard is killed. The command gets SIGKILL by its parent-death signal; its descendants
//     fall to the runner, a subreaper too, which ends them and returns 76.
//  6. The guard is stopped or hangs. The runner kills it when the command should have been gone
//     (see runner.h): then as 5.
//  7. The command left its process group (setsid) or became a daemon. The guard is a subreaper:
//     every orphan becomes its child, and it ends children until there are none.
//  8. A process number is reused and a stranger is killed. Only unreaped children of our own, and
//     the group of an unreaped child, are ever signalled.
//  9. The guard dies between fork and the parent-death signal of the command: the command checks
//     its parent after it has set it.
// 10. exec hangs (network file system). The guard learns of exec from a pipe in its poll loop, so
//     the deadline is kept meanwhile.
// 11. The lock's time is over before the command was started (the runner was stopped between
//     grant and start): the command is not started.
// 12. An extension comes after the end has begun: ignored; a lost lock never comes back.
// 13. The other side does not read (it is stopped): nobody blocks in a send, see protocol.h.
// 14. Descendants with another user's rights (sudo) cannot be killed by us. The guard waits for
//     their end with the liveness descriptor open; the runner says so and returns.
//
// When the command ends by itself, its background descendants are left alone, and the runner
// releases the lock: the lock protects the command, not what it left behind. (flock(1) keeps its
// lock until the last descendant has closed the file.)
#pragma once

#include <sys/types.h>

#include "child.h"

namespace holdfast::cli {

// The guard as the runner sees it: a child process and a socket to it.
class GuardProcess {
 public:
  // Forks the guard, which waits for ToGuard::start. Throws LockError if there is no room for one
  // more process. REQUIRES: the process has one thread; the signals that we forward are blocked.
  explicit GuardProcess(const Command& command);
  ~GuardProcess() { end(); }
  GuardProcess(const GuardProcess&) = delete;
  GuardProcess& operator=(const GuardProcess&) = delete;

  // Stays open until this process ends: a late renewal may still be sent into it.
  int socket() const { return socket_; }

  void kill();
  // Makes sure that it is gone, and reaps it. The command, if it still runs, dies with it.
  void end();

 private:
  pid_t pid_ = -1;
  int socket_ = -1;  // close-on-exec
};

}  // namespace holdfast::cli
