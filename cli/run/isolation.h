// --isolate: the command runs in a pid namespace of its own. Its first process, init, belongs to us
// and dies with the guard, whatever kills that one; and with init the kernel kills everything in
// the namespace, wherever it hides, and however fast it forks.
//
//   guard ─┬─► init                      (number 1 inside)
//          └─► command ─► descendants    (orphans fall to init)
//
// The guard remains the parent of the command, and knows it by its number outside: signals, job
// control and status are as without. The command sees the namespace in /proc, which it has mounted
// in a mount namespace of its own. Without the right to do that a user namespace is made first, in
// which our own user and group are the only ones. We need no /proc for any of this.
#pragma once

#include <sys/types.h>

namespace holdfast::cli {

// Children that this process forks from now on are in a new namespace. 0, or the errno of what failed.
// REQUIRES: one thread; nothing was forked by it.
int enter_isolation();

// The first process in the namespace. It reaps orphans, passes SIGTERM on to everybody inside and then
// ends after the last of them, and dies with this process. -1: see errno. REQUIRES: all signals are blocked.
pid_t start_init();

// In the command, before exec: shows the processes of the namespace in /proc. 0, or errno.
int mount_own_proc();

}  // namespace holdfast::cli
