// The etcd engine: a queue of keys per lock, in the order of etcd's revisions. See
// docs/engines/etcd.md.
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

Guarantees etcd_guarantees();
Result<std::unique_ptr<Engine>> open_etcd_engine(const Url& url, Runtime& runtime,
                                                 const ClientOptions& options);

}  // namespace holdfast::internal
