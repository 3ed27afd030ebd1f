// The variables that tell a command which locks it runs under:
//
//   HOLDFAST_NAME, HOLDFAST_TOKEN          of the lock, if there is one only
//   HOLDFAST_NAME_1, HOLDFAST_TOKEN_1 …    of each, in the order in which the user named them
//   HOLDFAST_LOCKS                         the same as JSON: [{"name":"a","token":5},…]
//   HOLDFAST_MODE                          of all
//   HOLDFAST_OWNER                         of all; what CMD locks belongs to the same owner
//   HOLDFAST_HELD                          for runs below this one: see nesting.h
// Pure, except for forget_lock_variables().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "holdfast/engine.h"

namespace holdfast::cli {

// Their tokens travel in one message: see protocol.h.
inline constexpr std::size_t kMaxNames = 64;

// Variables that are known before the locks are held.
struct CommandLocks {
  struct Lock {
    Name name;
    std::string nesting_key;  // empty: a run above holds it, and has told of it already
  };
  std::vector<Lock> locks;
  Mode mode = Mode::exclusive;
  std::string owner;
  std::string held_above;  // HOLDFAST_HELD as we got it
};

// NAME=value each. `tokens`: one for each lock.
std::vector<std::string> lock_variables(const CommandLocks& locks,
                                        std::span<const std::uint64_t> tokens);

// Removes what a run above has set from the environment of this process: NAME_3 of that run is none of ours.
void forget_lock_variables();

}  // namespace holdfast::cli
