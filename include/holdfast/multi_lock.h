// MultiLock: several locks, all or none. Names are sorted and deduplicated, so two multi-locks
// cannot deadlock on each other; one deadline covers the whole; what was taken is given back in
// reverse order when the rest cannot be had.
// Thread safety: MultiLock, all of it; MultiLease as Lease.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/lock_request.h"

namespace holdfast {

class [[nodiscard]] HOLDFAST_API MultiLease {
 public:
  MultiLease() = default;
  explicit MultiLease(std::vector<Lease> leases);
  MultiLease(MultiLease&&) noexcept = default;
  MultiLease& operator=(MultiLease&&) noexcept;
  ~MultiLease();

  const std::vector<Lease>& leases() const { return leases_; }
  // The token of one of the names; LockError (not_held) if it is not among them.
  Token token(const Name& name) const;
  // True while every one is held.
  bool held() const noexcept;
  // Triggered when the first of them is lost.
  std::stop_token lost() const;
  // Releases in reverse order; the first failure, if any.
  Result<void> release();

 private:
  struct AnyLost;
  std::vector<Lease> leases_;
  std::shared_ptr<AnyLost> any_lost_;
};

class HOLDFAST_API MultiLock {
 public:
  // REQUIRES: requests sorted by name, no name twice (Client::multi_lock sees to it).
  explicit MultiLock(std::vector<LockRequest> requests) : requests_(std::move(requests)) {}

  Result<MultiLease> acquire(std::stop_token stop = {});
  Result<MultiLease> try_acquire();
  Result<MultiLease> try_acquire_for(Duration patience, std::stop_token stop = {});

 private:
  template <class Take>
  Result<MultiLease> take_all(Take take);

  std::vector<LockRequest> requests_;
};

}  // namespace holdfast
