// The Redlock engine: a lock that a majority of independent Redis masters votes on, with fencing
// tokens. See docs/REDLOCK.md and docs/engines/redlock.md.
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

Guarantees redlock_guarantees();

Result<std::unique_ptr<Engine>> open_redlock_engine(const Url& url, Runtime& runtime,
                                                    const ClientOptions& options);

}  // namespace holdfast::internal
