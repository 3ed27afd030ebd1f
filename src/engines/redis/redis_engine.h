// The Redis engine: one server, a master that sentinels name, or a cluster. See
// docs/engines/redis.md.
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

Guarantees redis_guarantees();
Guarantees redis_sentinel_guarantees();
Guarantees redis_cluster_guarantees();

Result<std::unique_ptr<Engine>> open_redis_engine(const Url& url, Runtime& runtime,
                                                  const ClientOptions& options);

}  // namespace holdfast::internal
