// The HANDLE argument of `renew` and `release`: what `holdfast acquire` printed, or "-" to read it
// from standard input, where no other user can see it.
#pragma once

#include <string>

#include "holdfast/lease.h"

namespace CLI {
class App;
}

namespace holdfast::cli {

void add_handle(CLI::App& command, std::string& text);
Result<Handle> read_handle(const std::string& text);

}  // namespace holdfast::cli
