// All locks of a server, or of all masters of a cluster, found by SCAN. Inside the loop only.
#pragma once

#include <string>
#include <vector>

#include "engines/redis/command_executor.h"
#include "holdfast/engine.h"

namespace holdfast::internal::redis {

// One step of SCAN through the sibling keys with this letter: the names behind them that begin with `wanted`; both
// with the prefix of the URL. Moves `cursor` on, which is "0" at the beginning and at the end. SCAN can show a key
// twice.
Task<Result<std::vector<std::string>>> scan_names(Node& node, char letter, std::string wanted,
                                                  std::string& cursor, Deadline deadline);

Task<Result<std::vector<LockInfo>>> list_locks(CommandExecutor& executor, Script& inspect,
                                               std::string prefix, Deadline deadline);

}  // namespace holdfast::internal::redis
