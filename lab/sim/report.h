// The results of a run, as text for people. Tables and JSON are the command's business.
#pragma once

#include <string>

#include "lab/sim/runner.h"

namespace holdfast::lab::sim {

// "  messages lost      1234", one line each.
std::string marks_text(const Marks& marks);

// The violation, the schedule with as few faults as will do, and how to see it again.
std::string violation_text(const RunResult& result);

// "redlock: no violation in …", or what was found; and what should have happened and did not.
std::string result_text(const RunResult& result);

}  // namespace holdfast::lab::sim
