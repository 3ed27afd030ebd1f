// The memcached engine: one server. See docs/engines/memcached.md.
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

Guarantees memcached_guarantees();

Result<std::unique_ptr<Engine>> open_memcached_engine(const Url& url, Runtime& runtime,
                                                      const ClientOptions& options);

}  // namespace holdfast::internal
