// The processes below this one: finding them, signalling all of them at once, ending them.
//
// REQUIRES: the caller is a child subreaper (PR_SET_CHILD_SUBREAPER), so that a descendant whose
// parent ends becomes our child, also if it called setsid() or left the process group; and
// problem_with_proc() finds nothing, see proc_mount.h.
//
// signal_descendants() and end_all_children() allocate nothing on the heap: the keeper calls them
// on memory that a killed process left behind in the middle of anything (see keeper.h).
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <vector>

namespace holdfast::cli {

// Our children. Costs one system call if there are none.
std::vector<pid_t> children_of_self();

struct TreeSignal {
  int signal = 0;
  bool then_continue = false;     // SIGCONT after it: a stopped process would not see it
  pid_t except_group = 0;         // a process group that has had the signal already
  pid_t except = 0;               // one process, but not what is below it
  std::span<const pid_t> spared;  // processes with all that is below them
};

// Signals every descendant: reads the whole of /proc once and then signals from the top down, so
// that no parent can react to the end of its child. Returns how many living processes it found, or
// -1 if /proc cannot be read.
//
// Each is signalled through a pidfd, after its parent and start time were read a second time: a
// number that was reused since the first reading is never signalled. Processes that are forked
// while we read are found by the next call.
int signal_descendants(const TreeSignal& what);

// Kills all descendants and reaps them until none is left. Waits without limit for a process that
// cannot be killed (another user's, or stuck in the kernel). If `main` is among the reaped, its
// wait status is stored.
void end_all_children(pid_t main, std::optional<int>* status);

// The same without killing: somebody else does it, such as the kernel.
void reap_all_children(pid_t main, std::optional<int>* status);

}  // namespace holdfast::cli
