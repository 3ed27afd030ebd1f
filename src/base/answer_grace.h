// A request that is sent shortly before a wait is over, or for a caller that does not wait at all, is still given
// this long for its answer: several round trips to a server that is far away, and too short for a user to notice.
#pragma once

#include "holdfast/time.h"

namespace holdfast::internal {

inline constexpr Duration kAnswerGrace = std::chrono::milliseconds(250);

}  // namespace holdfast::internal
