// The keeper: the guard's parent, which does nothing but wait for the guard's end. If the guard was
// killed, all that was below it falls to the keeper, which ends it.
//
//   runner ─► keeper ─► guard ─► command ─► its descendants
//
// Every one of the three is an ancestor of the command and a subreaper, so any one of them that is
// left can find and end everything. Name, title, process group and session of the keeper differ
// from those of runner and guard: a kill by pattern, by group or by session does not hit all three.
//
// It costs 30 us instead of the 300 of a fork: guard and keeper share their memory and their
// descriptors. So the keeper also holds what the guard has open: the engine's liveness descriptor,
// and the socket to the runner, which ends only after everything has been ended. Shared memory
// means that the keeper must not allocate: the guard can be killed in the middle of malloc(). And
// an out-of-memory kill of one of the two ends both, which leaves the runner.
#pragma once

#include "child.h"

namespace holdfast::cli {

// Turns this process, which was just forked by the runner, into the keeper, and starts the guard.
// `runner` is the guard's end of the socket.
[[noreturn]] void keep_guard(int runner, const Command& command);

}  // namespace holdfast::cli
