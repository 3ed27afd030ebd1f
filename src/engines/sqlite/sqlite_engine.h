// The embedded engine: locks of one machine in one SQLite file. See docs/engines/sqlite.md.
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

Guarantees sqlite_guarantees();

Result<std::unique_ptr<Engine>> open_sqlite_engine(const Url& url, Runtime& runtime,
                                                   const ClientOptions& options);

}  // namespace holdfast::internal
