// Lines to standard error that hold up nobody. Thread safety: all of it; also in a forked child.
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/log.h"

namespace holdfast::internal {

// Writes `line` and its end to `descriptor`, as a whole, or not at all: false if that would have to wait, or nobody
// reads. Raises no signal. REQUIRES: shorter than kMaxLogLine.
bool write_at_once(int descriptor, std::string line);

// Writes `line`, or counts it as dropped. The first that can be written after that is preceded by a line that says
// how many were.
void write_or_drop(int descriptor, std::string line, LogFormat format);

}  // namespace holdfast::internal
