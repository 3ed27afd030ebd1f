// A `holdfast run` below another one that holds the same lock would wait for itself. Each run tells its command by
// HOLDFAST_HELD which locks are held above it: entries "KEY:TOKEN", where KEY is made of the URL and the name.
// A process that outlives its run keeps the variable, so an entry counts only while the engine still shows
// a holder with that token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "session.h"

namespace holdfast::cli {

std::string nesting_key(const std::string& url, const Name& name);

// HOLDFAST_HELD as it was inherited.
std::string inherited_holds();

struct HeldAbove {
  std::uint64_t token = 0;
  Mode mode = Mode::exclusive;
};

// For each name, whether a run above us holds it now. Asks the engine in a process of its own, and only if
// HOLDFAST_HELD names one of the locks. REQUIRES: one thread; no more than kMaxNames names.
std::vector<std::optional<HeldAbove>> held_above(const Session& session, const std::string& url,
                                                 const std::vector<Name>& names);

}  // namespace holdfast::cli
