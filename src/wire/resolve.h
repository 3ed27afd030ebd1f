// The addresses behind a server's name, asked for without blocking the loop. Inside the loop only.
#pragma once

#include <string>
#include <vector>

#include "holdfast/result.h"
#include "holdfast/runtime.h"

namespace holdfast::internal {

// Numbers, at least one ("127.0.0.1", "::1"); asks the resolver only if `host` is not one already.
// unreachable if there is none by the deadline.
Task<Result<std::vector<std::string>>> resolve(Runtime& runtime, std::string host,
                                               Deadline deadline);

}  // namespace holdfast::internal
