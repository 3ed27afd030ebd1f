// A lock as `ls` and `show` print it, for people and as JSON.
#pragma once

#include <optional>
#include <string>

#include "session.h"

namespace holdfast::cli {

Json to_json(const LockInfo& info);

// Labels of other holders, as servers report them: printable, and not too long.
std::string shown_label(const std::string& text);

// "-" for a claim without an owner: of another program, or an older client.
std::string shown_owner(const std::string& owner);

// "12.3s", or "-" if the engine does not know.
std::string shown(const std::optional<Duration>& span);

}  // namespace holdfast::cli
