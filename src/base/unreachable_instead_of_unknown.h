// Reads have no side effects, so a lost reply is `unreachable`, never `unknown`.
#pragma once

#include "holdfast/result.h"

namespace holdfast::internal {

inline Failure unreachable_instead_of_unknown(const Failure& why) {
  return why.code() == Code::unknown ? Failure(Code::unreachable, why.message()) : why;
}

}  // namespace holdfast::internal
