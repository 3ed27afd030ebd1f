// A deadlock as `deadlocks` and `top` tell it, in words and as JSON.
#pragma once

#include <functional>
#include <string>

#include "holdfast/deadlock.h"
#include "session.h"

namespace holdfast::cli {

Json to_json(const Deadlock& deadlock);

// How the user names an engine on the command line: " --on 'redis://…'", or empty.
using OptionsFor = std::function<std::string(const std::string& engine)>;

// Several lines, each ended.
std::string deadlock_text(const Deadlock& deadlock, const OptionsFor& options_for);

// "job-7 → job-9 → job-7 (stock on redis, ledger on postgres)": one line, printable.
std::string deadlock_line(const Deadlock& deadlock);

}  // namespace holdfast::cli
