// Ending every descendant, wherever it hides.
//
// REQUIRES: the caller is a child subreaper (PR_SET_CHILD_SUBREAPER), so that a descendant whose
// parent ends becomes our child, also if it called setsid() or left the process group.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "holdfast/time.h"

namespace holdfast::cli {

// Our children, from /proc. Costs one system call if there are none.
std::vector<pid_t> children_of_self();

// Kills our children, reaps them, and so on with the children that they leave to us, until none
// is left (true) or the patience is over (false: a process of another user, or one stuck in the
// kernel). Only our own children are ever killed: their numbers cannot be reused before we have
// reaped them, so no stranger is hit. `spared` are left alive: a shell that ended with
// `exec holdfast run …` has left us its background jobs. If `main` is among the reaped, its wait
// status is stored.
bool end_all_children(std::optional<Duration> patience, const std::vector<pid_t>& spared,
                      pid_t main, std::optional<int>* status);

}  // namespace holdfast::cli
