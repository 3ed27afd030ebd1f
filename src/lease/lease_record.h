// LeaseRecord: what a Lease, the renewer and the locker share about one granted lock.
//
// Thread safety: `hold`, `validity` and `loss` from any thread; everything else inside the loop.
#pragma once

#include <memory>
#include <optional>

#include "base/watchdog.h"
#include "holdfast/lease.h"
#include "holdfast/options.h"
#include "lease/loss_signal.h"
#include "lease/validity.h"

namespace holdfast::internal {

class Locker;
class Renewer;

class LeaseRecord : private Timer,
                    private Watchdog::Ward,
                    public std::enable_shared_from_this<LeaseRecord> {
 public:
  LeaseRecord(std::shared_ptr<Locker> locker, Hold hold, const LockOptions& options,
              Validity validity, BootTime now = {});
  ~LeaseRecord() override;

  Lease make_lease() { return Lease(shared_from_this()); }
  Locker& locker() const { return *locker_; }
  const std::shared_ptr<Locker>& shared_locker() const { return locker_; }

  const Hold hold;
  // The same, with the ttl that a renewal at this moment must ask for.
  Hold hold_at(BootTime now) const;
  // LockOptions::keep: until when it stays held in any case.
  BootTime kept_until() const { return kept_until_; }
  void forgo_keep() { kept_until_ = {}; }
  ValidityWord validity;
  LossSignal loss;

 private:
  friend class Renewer;
  enum class State {
    idle,      // not with the renewer: not yet, or no longer
    resting,   // waiting for its next renewal, or for its end
    due,       // in the next batch
    renewing,  // in a batch that is under way
    ended,     // declared lost
  };

  void on_time() override;
  std::optional<BootTime> look(BootTime now) noexcept override;
  bool wants_callbacks() noexcept override { return loss.fire(); }
  std::shared_ptr<Ward> share() noexcept override;
  void run_callbacks() noexcept override { loss.deliver(); }

  std::shared_ptr<Locker> locker_;
  Renewer* renewer_ = nullptr;    // while it has us
  Watchdog* watchdog_ = nullptr;  // since it has us; outlives us
  std::optional<Duration> warn_before_;
  bool auto_renew_;
  const Duration ttl_;  // without `keep`
  BootTime kept_until_;
  State state_ = State::idle;
  bool doubted_ = false;  // since the renewal that is under way was sent
  BootTime renew_at_;
  LeaseRecord* previous_ = nullptr;  // among all that the renewer has
  LeaseRecord* next_ = nullptr;
};

}  // namespace holdfast::internal
