// Failures that engines report in the same words.
#pragma once

#include "base/failures.h"
#include "holdfast/engine.h"

namespace holdfast::internal {

// A renewal's answer. `why`: how such a hold ends at this engine.
inline Failure no_longer_held(
    const Name& name, const std::string& why = "it expired, was released, or was taken away") {
  return Failure(Code::not_held,
                 "the lock '" + name.display() + "' is not held by this claim any more: " + why);
}

// Engine::evict() found no holder with this token.
inline Failure not_held_with(const Name& name, Token token) {
  return Failure(Code::not_held, "'" + name.display() + "' is not held with token " + token.str() +
                                     "; nothing was changed");
}

// The semaphore's users disagree about its size.
inline Failure other_permits(const Claim& claim, std::uint64_t permits) {
  return Failure(Code::invalid_argument, "'" + claim.name.display() + "' is a semaphore of " +
                                             std::to_string(permits) + " permits, not of " +
                                             std::to_string(claim.permits) +
                                             "; all its users must agree");
}

// Engine::release() ended the claim's wait.
inline Failure released_while_waiting() {
  return Failure(Code::cancelled, "it was released while it waited");
}

}  // namespace holdfast::internal
