#include "held_locks.h"

#include <algorithm>
#include <utility>

namespace holdfast::cli {

HeldLocks::HeldLocks(MultiLease leases, const std::vector<Name>& names,
                     const std::vector<std::optional<HeldAbove>>& above)
    : leases_(std::move(leases)) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    tokens_.push_back(above[i] ? above[i]->token : leases_.token(names[i]).value());
  }
}

const Lease& HeldLocks::weakest() const {
  return *std::ranges::min_element(leases(), {}, [](const Lease& lease) {
    return std::pair(lease.held(), lease.valid_until());
  });
}

}  // namespace holdfast::cli
