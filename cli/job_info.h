// The last run of a job as `jobs`, `show` and `run` tell of it, for people and as JSON.
#pragma once

#include <string>

#include "session.h"

namespace holdfast::cli {

// "2026-11-19 03:00:01+0100", in this system's zone.
std::string shown_time(WallTime moment);

Json to_json(const Job& job);

// "done by alice@db1 pid 812: ./report, 2026-11-19 03:00:01+0100 to 03:04:11, status 0"
std::string job_text(const Job& job);
// When it is due again by its record: at once, unless it was done.
std::string due_text(const Job& job);

}  // namespace holdfast::cli
