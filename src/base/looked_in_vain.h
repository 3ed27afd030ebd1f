// Looking leaves nothing behind: whether a question that got no answer was heard does not matter, and
// `unknown` would make the caller believe that it does.
#pragma once

#include "holdfast/result.h"

namespace holdfast::internal {

inline Failure looked_in_vain(const Failure& why) {
  return why.code() == Code::unknown ? Failure(Code::unreachable, why.message()) : why;
}

}  // namespace holdfast::internal
