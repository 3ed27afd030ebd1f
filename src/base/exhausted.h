// Messages for operators when the operating system has run out of something.
#pragma once

#include <optional>
#include <string>

#include "holdfast/result.h"

namespace holdfast::internal {

// The limit behind an error, its value, and what to raise; nothing if the error is not about a limit.
std::optional<std::string> exceeded_limit(int error);

// `error` in words. Names the limit that was reached, and what raises it, where a limit was.
std::string describe_error(int error);

// exhausted: `what` failed with `error`, for example "no socket could be made: …".
Failure exhausted(const std::string& what, int error);

// exhausted: no thread could be started, because of `error`.
Failure no_thread(int error);

}  // namespace holdfast::internal
