// MultiLock: several locks, all or none. Names are sorted and deduplicated, so two multi-locks
// cannot deadlock on each other; one deadline covers the whole, and `stop` ends it anywhere. When
// the rest cannot be had, everything taken so far is given back at once, all at the same time; what a
// dead link delays goes on in the background.
// Thread safety: MultiLock, all of it; MultiLease as Lease.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/lock_request.h"

namespace holdfast {

class [[nodiscard]] HOLDFAST_API MultiLease {
 public:
  MultiLease() = default;
  // REQUIRES: leases of one client, none of them empty; LockError (invalid_argument) otherwise.
  explicit MultiLease(std::vector<Lease> leases);
  MultiLease(MultiLease&&) noexcept = default;
  MultiLease& operator=(MultiLease&&) noexcept;
  // Releases all at the same time, within ClientOptions::release_timeout. Waits for no callback. In a forked
  // child it does nothing.
  ~MultiLease();

  const std::vector<Lease>& leases() const { return leases_; }
  // The token of one of the names; LockError (not_held) if it is not among them.
  Token token(const Name& name) const;
  // True while every one is held.
  bool held() const noexcept;
  // Triggered when the first of them is lost; see Lease::lost().
  std::stop_token lost() const;
  // The moment until which all are surely ours. REQUIRES: not empty (LockError, closed).
  BootTime valid_until() const;
  // Renews each now, in addition to the background renewal; the first failure, if any.
  Result<void> renew();
  // Releases all at the same time; the first failure, if any.
  Result<void> release();
  // All or none: if one cannot be detached, all are released. In the order of leases(); see Lease::detach().
  Result<std::vector<Handle>> detach();
  Async<Result<void>> async_renew();
  // Empties this at once; the leases are given back if the Async is dropped.
  Async<Result<std::vector<Handle>>> async_detach();
  // Empties this at once, and gives the locks back when the Async is used, or dropped.
  Async<Result<void>> async_release();

 private:
  friend class MultiLock;
  using Records = std::vector<std::shared_ptr<internal::LeaseRecord>>;
  static Task<Result<void>> release_owned(MultiLease all);
  static Task<Result<std::vector<Handle>>> detach_owned(MultiLease all);
  static Task<Result<void>> renew_each(Records records);
  // Why a blocking call cannot be made here; nothing if it can.
  std::optional<Failure> not_here();
  // Takes the leases out, for their locker to release.
  Records take_records();
  std::vector<Lease> leases_;
  std::stop_source any_lost_{std::nostopstate};  // each lease triggers it when it is lost
};

class HOLDFAST_API MultiLock {
 public:
  // REQUIRES: requests of one client, sorted by name, no name twice (Client::multi_lock sees to it);
  // LockError (invalid_argument) otherwise.
  explicit MultiLock(std::vector<LockRequest> requests);

  Result<MultiLease> acquire(std::stop_token stop = {});
  Result<MultiLease> try_acquire();
  Result<MultiLease> try_acquire_for(Duration patience, std::stop_token stop = {});

  Async<Result<MultiLease>> async_acquire(std::stop_token stop = {});
  Async<Result<MultiLease>> async_try_acquire();
  Async<Result<MultiLease>> async_try_acquire_for(Duration patience, std::stop_token stop = {});

 private:
  using Requests = std::vector<LockRequest>;
  Async<Result<MultiLease>> begin(bool queue, std::optional<Duration> patience,
                                  std::stop_token stop);
  static Task<Result<MultiLease>> take(std::shared_ptr<const Requests> requests, Wait wait);

  std::shared_ptr<const Requests> requests_;  // null: moved from
};

}  // namespace holdfast
