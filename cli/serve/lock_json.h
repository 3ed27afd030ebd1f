// A lock as the API shows it: as `holdfast --json show`, with its engine and the key of its path.
#pragma once

#include "seen_lock.h"
#include "serve/engines.h"

namespace holdfast::cli::serve {

Json lock_json(const std::string& engine, const LockInfo& info);
// The same with moments instead of spans, for those who keep what they were told.
Json to_json(const std::string& engine, const SeenLock& lock);

}  // namespace holdfast::cli::serve
