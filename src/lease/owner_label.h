// An owner and a label in the one text that engines keep of each claim and show to others: 0x1f OWNER 0x1f LABEL. So
// every engine keeps owners, and older clients of the same store show them in front of the label. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "holdfast/engine.h"

namespace holdfast::internal {

inline constexpr std::size_t kMaxOwnerBytes = 40;

// Why `owner` cannot be one, or nothing if it can, or is empty.
std::optional<std::string> problem_with_owner(std::string_view owner);

// The label that the engine keeps for this claim.
std::string kept_label(std::string_view owner, std::string_view label);

// Moves the owner out of each label.
void take_owners(LockInfo& info);

// The label behind the owner in Busy::holder, which has been through printable().
std::string without_owner(std::string holder);

}  // namespace holdfast::internal
