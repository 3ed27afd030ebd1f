#include "serve/returns.h"

namespace holdfast::cli::serve {

void Returns::add(Lease lease) const {
  ++*under_way_;
  try {
    std::move(lease).async_release().then([count = under_way_](const Result<void>&) { --*count; });
  } catch (const LockError&) {  // No thread is to be had: it ends by its ttl.
    --*under_way_;
  }
}

}  // namespace holdfast::cli::serve
