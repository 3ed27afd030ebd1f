// Records as the layers above an engine use them. The same for all engines: a value that is too long is refused, an
// engine that throws has failed, and a read whose reply was lost is `unreachable`, because it has no side effects.
//
// Inside the loop only. The engine must outlive the task.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "holdfast/engine.h"

namespace holdfast::internal {

Task<Result<std::optional<std::string>>> read_record(Engine& engine, Name name, Deadline deadline);

// Refuses a `value` of more than kMaxRecordBytes (invalid_argument).
Task<Result<bool>> swap_record(Engine& engine, Name name, std::optional<std::string> expected,
                               std::optional<std::string> value, Deadline deadline);

Task<Result<std::vector<Record>>> list_records(Engine& engine, std::string prefix,
                                               Deadline deadline);

Task<Result<std::optional<WallTime>>> server_time(Engine& engine, Deadline deadline);

}  // namespace holdfast::internal
