// Locks in ZooKeeper: queues of ephemeral nodes, as Curator and kazoo have them.
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

Guarantees zookeeper_guarantees();

Result<std::unique_ptr<Engine>> open_zookeeper_engine(const Url& url, Runtime& runtime,
                                                      const ClientOptions& options);

}  // namespace holdfast::internal
