// The live screen: keys, signals, answers and time in, frames out.
#pragma once

#include "look.h"
#include "top/settings.h"
#include "top/terminal.h"

namespace holdfast::cli::top {

// Returns the exit status when the user has had enough, or a signal came. The terminal is given back by then.
int show_live(std::vector<OpenPlace>& places, const Settings& settings, Terminal& terminal);

}  // namespace holdfast::cli::top
