// The keys of all items of a server (`lru_crawler metadump hash`; `all` goes along the LRU lists, and
// misses what moves between them: one dump of four, with 22 items). The server hands the connection
// to its crawler meanwhile, so it is one of its own, and other calls need not wait.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/runtime.h"
#include "wire/stream.h"

namespace holdfast::internal::memcached {

// Those that are `wanted` and have a ttl, each once. misconfigured if the server does not do it,
// unreachable if it is busy doing it for others until the deadline.
Task<Result<std::vector<std::string>>> dump_keys(Runtime& runtime, Endpoint endpoint,
                                                 std::function<bool(std::string_view)> wanted,
                                                 Deadline deadline);

}  // namespace holdfast::internal::memcached
