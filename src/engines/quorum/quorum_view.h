// Shows, and breaks, a lock that N nodes keep.
#pragma once

#include <vector>

#include "engines/quorum/voter.h"

namespace holdfast::internal::quorum {

// From what each node knows. A claim holds, or waits, if it does so at a majority; what fewer know of
// is on its way in or out, and is not shown. Pure.
LockInfo merge(const Name& name, const std::vector<LockInfo>& seen, std::size_t majority);

Task<Result<LockInfo>> inspect_lock(Runtime& runtime, Electorate& electorate, Name name,
                                    Deadline deadline);
Task<Result<std::vector<LockInfo>>> list_locks(Runtime& runtime, Electorate& electorate,
                                               std::string prefix, Deadline deadline);
Task<Result<void>> evict_lock(Runtime& runtime, Electorate& electorate, Name name, Token token,
                              Deadline deadline);

}  // namespace holdfast::internal::quorum
