// Looks that are printed, for scripts and pipes: a table, or with --json an object on one line.
#pragma once

#include "look.h"
#include "top/settings.h"

namespace holdfast::cli::top {

// Returns the exit status: that of the last look.
int print_looks(const Session& session, std::vector<OpenPlace>& places, const Settings& settings);

}  // namespace holdfast::cli::top
