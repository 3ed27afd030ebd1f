// A run as tables for bench/README.md.
#pragma once

#include "run_file.h"

namespace holdfast::bench {

// Of each group: its targets, reached or not, and what each client did.
std::string to_markdown(const Json& run);

}  // namespace holdfast::bench
