// Several independent memcached servers as one lock: a majority of them votes on it.
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

Guarantees memcached_quorum_guarantees();

Result<std::unique_ptr<Engine>> open_memcached_quorum(const Url& url, Runtime& runtime,
                                                      const ClientOptions& options);

}  // namespace holdfast::internal
