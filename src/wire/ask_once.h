// A question and its answer over a connection that is made for them alone: for servers that also speak lines of text
// beside their protocol (ZooKeeper's four-letter words, memcached's statistics).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "wire/stream.h"

namespace holdfast::internal {

// The answer until the server closed the connection, or until it is `complete`. unreachable if neither happens by
// the deadline.
Task<Result<std::string>> ask_once(Runtime& runtime, Endpoint endpoint,
                                   std::shared_ptr<const TlsContext> tls, std::string question,
                                   std::function<bool(const std::string&)> complete,
                                   Deadline deadline);

}  // namespace holdfast::internal
