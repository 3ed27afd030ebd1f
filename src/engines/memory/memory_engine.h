// The engine `memory`: locks of one process, in its memory. For tests (holdfast/testing.h), and for the threads of one
// process.
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

class MemoryServer;

Guarantees memory_guarantees();

std::unique_ptr<Engine> make_memory_engine(std::shared_ptr<MemoryServer> server, Runtime& runtime);

// memory: has locks of its own; those of memory:NAME are shared by all clients of this process.
Result<std::unique_ptr<Engine>> open_memory_engine(const Url& url, Runtime& runtime,
                                                   const ClientOptions& options);

}  // namespace holdfast::internal
