// A lock as the API shows it: as `holdfast --json show`, with its engine and the key of its path.
#pragma once

#include "serve/engines.h"

namespace holdfast::cli::serve {

Json lock_json(const std::string& engine, const LockInfo& info);

}  // namespace holdfast::cli::serve
