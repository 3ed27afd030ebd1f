// HeldLocks: the locks that a command runs under: the leases of this run, and those that a run above it holds
// (--reenter). The loss of one of our leases ends the command; the run above minds its own.
// Thread safety: lost() and valid_until() from any thread; the rest from one.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "holdfast/multi_lock.h"
#include "nesting.h"

namespace holdfast::cli {

class HeldLocks {
 public:
  // `names` as the user gave them; `above`: for each of them the hold of a run above, if there is one.
  // REQUIRES: `leases` has every other name.
  HeldLocks(MultiLease leases, const std::vector<Name>& names,
            const std::vector<std::optional<HeldAbove>>& above);

  // In the order of the names.
  const std::vector<std::uint64_t>& tokens() const { return tokens_; }
  const std::vector<Lease>& leases() const { return leases_.leases(); }
  std::stop_token lost() const { return leases_.lost(); }
  // The moment until which all of them are surely ours.
  BootTime valid_until() const { return leases_.valid_until(); }
  // The first that is lost; else the first whose time ends. REQUIRES: not released.
  const Lease& weakest() const;
  Result<void> renew() { return leases_.renew(); }
  Result<void> release() { return leases_.release(); }

 private:
  MultiLease leases_;
  std::vector<std::uint64_t> tokens_;
};

}  // namespace holdfast::cli
