// Which owners can never go on, as long as nobody gives up: all but those that can, found by letting one after the other
// end. Pure functions.
#pragma once

#include <vector>

#include "survey/lines.h"

namespace holdfast::internal {

// How much an owner that holds a lock and wants it again says about that owner. See Role.
enum class Reading {
  certain,   // nothing: another of its threads may hold it
  possible,  // one thread does both
};

constexpr bool counts(Role role, Reading reading) {
  return role == Role::waits || (role == Role::perhaps && reading == Reading::possible);
}

// By owner. `left_out` (by owner) are taken for owners that can go on.
std::vector<bool> stuck_owners(const Lines& all, Reading reading,
                               const std::vector<bool>& left_out);

}  // namespace holdfast::internal
