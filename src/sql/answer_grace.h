// kAnswerGrace is short for SQL: a request that is given up costs its connection, and the server may execute it later,
// when what it took stays for its ttl.
#pragma once

#include "holdfast/time.h"

namespace holdfast::internal {

inline constexpr Duration kSqlAnswerGrace = std::chrono::seconds(1);

}  // namespace holdfast::internal
