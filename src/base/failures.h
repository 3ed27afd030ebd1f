// Failures that every layer reports in the same words.
#pragma once

#include "holdfast/result.h"

namespace holdfast::internal {

inline Failure cancelled_by_caller() { return Failure(Code::cancelled, "cancelled by the caller"); }

// True for failures that a later attempt may not meet: no server answered, or its reply was lost.
inline bool may_pass(Code code) { return code == Code::unreachable || code == Code::unknown; }

}  // namespace holdfast::internal
