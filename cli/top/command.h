// holdfast top: the locks of several engines, live in a terminal.
#pragma once

#include "commands.h"

namespace holdfast::cli {

inline constexpr const char* kTopOnHelp =
    "An engine to show: URL, @FILE, NAME=URL or NAME=@FILE; may be given several times";

void add_top(CLI::App& app, Invocation& invocation);

}  // namespace holdfast::cli
