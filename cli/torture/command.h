// The command `torture`, and the one that it starts its clients with.
#pragma once

#include "commands.h"

namespace holdfast::cli {

void declare_torture(CLI::App& app, Invocation& invocation);

}  // namespace holdfast::cli
