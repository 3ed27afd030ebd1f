// `holdfast torture` is a program of its own, beside this one: see torture/main.cc.
#pragma once

#include <string>
#include <vector>

#include "session.h"

namespace holdfast::cli {

// Becomes that program. Returns only if it cannot: the exit status.
int launch_torture(const Session& session, const std::vector<std::string>& arguments);

}  // namespace holdfast::cli
