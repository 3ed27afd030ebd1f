// A run below another one that holds the same locks: refused, or with --reenter run under what is held already.
// Pure, except for run_under_held().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "claim_options.h"
#include "lock_variables.h"
#include "nesting.h"

namespace holdfast::cli {

// For each name of the plan: the hold of a run above us.
using HoldsAbove = std::vector<std::optional<HeldAbove>>;

// Why this run may not go on; nothing if it may.
std::optional<std::string> problem_with_nesting(const ClaimPlan& plan, const HoldsAbove& above,
                                                bool reenter);

// Names that no run above us holds, sorted.
std::vector<Name> names_to_take(const ClaimPlan& plan, const HoldsAbove& above);

CommandLocks command_locks(const ClaimPlan& plan, const std::string& url, const HoldsAbove& above);

// Becomes the command, under locks of which each is held above. Returns only if it cannot: the exit status.
int run_under_held(const Session& session, const CommandLocks& locks, const HoldsAbove& above,
                   std::vector<std::string> words);

}  // namespace holdfast::cli
