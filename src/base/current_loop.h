// The loop that this thread is inside of: whose monitor it holds. Set by the runtimes.
#pragma once

#include "holdfast/async.h"

namespace holdfast::internal {

inline constinit thread_local Loop* current_loop = nullptr;

}  // namespace holdfast::internal
