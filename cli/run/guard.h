// The guard: a small process below `holdfast run` that starts the command and ends it in time,
// whatever happens to the runner. The runner holds the lock and renews it; the guard holds the
// deadline; the keeper waits for the guard's end. None trusts another to be alive.
//
//   shell ─► runner ─────► keeper ─────► guard ─► command ─► its descendants
//            lock, renewal  second life   deadline, kills
//               └──────────(socket)─────────┘
//
// Guarantees, by means:
//
//                                  plain                      --isolate
//   one of the three is killed     the tree is ended          the tree is ended
//   two of the three at once       the tree is ended          the tree is ended
//   all three at once              the command itself dies;   the kernel ends the tree
//                                  descendants live on
//   /proc needed                   that of our namespace      no
//   left-behind background jobs    live on                    end with the command
//   descendants of another user    cannot be killed           are killed by the kernel
//
// How it could break, what is done about it, and the test (tests/cli; G: guard_test, T: tree_test,
// I: IsolateTest in tree_test):
//
//  1. The runner is killed (SIGKILL, out of memory). The socket ends: the guard kills everything
//     at once. Until the last process is gone, guard, keeper and descendants keep the engine's
//     liveness descriptor open, so that on one machine nobody gets in before.
//     G KillingTheRunnerEndsTheWholeFamilyAndThenLetsTheWaiterIn
//  2. The whole job is killed (kill -9 %1). The guard is in a process group of its own, the keeper
//     in a session. G KillingTheWholeJobEndsTheFamilyToo
//  3. The runner is stopped or hangs. No extension comes: SIGTERM at term_at, SIGKILL at kill_at,
//     both before valid_until. Continued, the runner finds the report and returns 76.
//     G AStoppedRunnerLosesTheLockInTimeAndReturns76WhenContinued
//  4. The machine sleeps. All deadlines are on CLOCK_BOOTTIME, which goes on; poll timeouts are
//     not, hence the timerfd. (No test: needs a machine to put to sleep.)
//  5. The guard is killed. The command gets SIGKILL by its parent-death signal; its descendants
//     fall to the keeper, which ends them, and the runner returns 76.
//     G KillingTheGuardEndsTheFamilyAndReturns76
//  6. The guard is stopped or hangs. The runner kills it when the command should have been gone
//     (see runner.h): then as 5. G AStoppedGuardIsReplacedByTheRunnerWhenTheLockIsLost
//  7. The command left its process group (setsid) or became a daemon. The guard is a subreaper:
//     every orphan becomes its child, and it ends descendants until there are none. G, all families
//  8. A process number is reused and a stranger is killed. By number we signal only children of our
//     own that are not reaped, and their groups; other processes by a pidfd, after parent and start
//     time were read a second time (process_tree.h). G JobsOfTheShellThatBecameTheRunnerAreSpared
//  9. The guard dies between fork and the parent-death signal of the command: the command checks
//     its parent after it has set it. G RepeatedKillsNeverLetTwoCommandsOverlap
// 10. exec hangs (network file system). The guard learns of exec from a pipe in its poll loop, so
//     the deadline is kept meanwhile. (No test.)
// 11. The lock's time is over before the command was started (the runner was stopped between
//     grant and start): the command is not started. G AGuardKilledBeforeTheLockIsGranted…
// 12. An extension comes after the end has begun: ignored; a lost lock never comes back. (No test.)
// 13. The other side does not read (it is stopped): nobody blocks in a send, see protocol.h.
//     G ACommandThatEndsInTimeHasSucceededEvenIfItsRunnerWasStopped
// 14. Descendants with another user's rights (sudo) cannot be killed by us. Guard or keeper wait for
//     their end with the liveness descriptor open; the runner says so and returns. (No test.)
// 15. Two of the three are killed in one go: by number, by pattern (pkill holdfast), by session. The
//     third is an ancestor and a subreaper, and ends everything; the keeper has another name, title,
//     group and session than the others. A kill by executable (fuser -k) hits all three, as does an
//     out-of-memory kill of a whole control group (which hits the command too): see 16.
//     T AnyTwoOfThreeKilledTogetherLetNobodyInBesideTheTree, NoPatternThatFits…
// 16. All three are killed in one go. Plain: the command itself dies with the guard, its descendants
//     live on; on the embedded engine they keep the next holder out for the ttl unless they closed
//     the liveness descriptor. With --isolate the kernel ends them.
//     I AllThreeKilledTogetherStillEndTheTree
// 17. The keeper alone is killed: the guard ends everything, since a second kill would leave nobody.
//     T KillingTheKeeperAloneEndsTheTreeAndReturns76
// 18. The keeper is stopped and the guard killed. The runner sees the guard's end by a pidfd, waits
//     a moment and ends everything itself. T AStoppedKeeperDoesNotDelayTheEnd
// 19. /proc is that of another pid namespace, or empty: our children have other numbers there, or
//     none. `run` refuses (78) unless --isolate. T AProcOfAnotherNamespaceIsRefused,
//     AnEmptyProcIsRefused; I NeedsNoProc
// 20. Descendants in nested sessions, many thousands of processes, fork chains: all are found by one
//     reading of /proc and signalled at once, SIGTERM included.
//     T ManyNestedSessionsEndBeforeTheNextHolderEnters, SigtermReachesEveryDescendantOnce…,
//     TenThousandProcessesEndWithinHalfASecond, AForkChainInSessionsOfItsOwnIsCaught
//
// When the command ends by itself, its background descendants are left alone (not with --isolate),
// and the runner releases the lock: the lock protects the command, not what it left behind.
// (flock(1) keeps its lock until the last descendant has closed the file.)
#pragma once

#include <sys/types.h>

#include "child.h"

namespace holdfast::cli {

// The body of the guard. REQUIRES: all signals are blocked. `runner` is its end of the socket.
[[noreturn]] void serve_as_guard(int runner, const Command& command, pid_t keeper);

// Guard and keeper as the runner sees them: a child process, and a socket to the other one.
class GuardProcess {
 public:
  // Forks them; the guard waits for ToGuard::start. Throws LockError if there is no room for more
  // processes. REQUIRES: the process has one thread; the signals that we forward are blocked.
  explicit GuardProcess(const Command& command);
  ~GuardProcess() { end(); }
  GuardProcess(const GuardProcess&) = delete;
  GuardProcess& operator=(const GuardProcess&) = delete;

  // Stays open until this process ends: a late renewal may still be sent into it. Ends when both
  // processes have.
  int socket() const { return socket_; }
  pid_t keeper() const { return keeper_; }
  // A pidfd of the guard, readable when it has ended; -1 until the guard has sent it.
  int handle() const { return guard_; }
  void set_handle(int pidfd);

  // The keeper then ends the command and all that is below it.
  void kill_guard();
  // Makes sure that both are gone, and reaps. The command, if it still runs, dies with them.
  void end();
  // Lets them go on without us: they wait for a process that nobody can kill.
  void leave();

 private:
  pid_t keeper_ = -1;
  int guard_ = -1;   // pidfd
  int socket_ = -1;  // close-on-exec
};

}  // namespace holdfast::cli
