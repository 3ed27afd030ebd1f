// A `holdfast run` below another one that holds the same lock would wait for itself. Each run tells its command by
// HOLDFAST_HELD which locks are held above it: entries "KEY:TOKEN", where KEY is made of the URL and the name.
// A process that outlives its run keeps the variable, so an entry counts only while the engine still shows
// a holder with that token.
#pragma once

#include <string>

#include "session.h"

namespace holdfast::cli {

// The value for the command, but for the token that is written behind it: "… KEY:".
std::string held_above(const std::string& url, const Name& name);

// Whether a run above us holds the lock now. Asks the engine in a process of its own, and only if
// HOLDFAST_HELD names the lock. REQUIRES: one thread.
bool is_held_above(const Session& session, const std::string& url, const Name& name);

}  // namespace holdfast::cli
