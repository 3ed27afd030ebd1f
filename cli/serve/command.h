// The command `serve`, a program of its own: see main.cc.
#pragma once

#include "commands.h"

namespace holdfast::cli {

void add_serve(CLI::App& app, Invocation& invocation);

}  // namespace holdfast::cli
