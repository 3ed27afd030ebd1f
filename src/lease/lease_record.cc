#include "lease/lease_record.h"

#include <algorithm>

#include "lease/renewer.h"

namespace holdfast::internal {

LeaseRecord::LeaseRecord(std::shared_ptr<Locker> locker, Hold the_hold, const LockOptions& options,
                         Validity the_validity, BootTime now)
    : hold(std::move(the_hold)),
      validity(the_validity),
      locker_(std::move(locker)),
      warn_before_(options.warn_before),
      auto_renew_(options.auto_renew),
      ttl_(options.keep > Duration::zero() ? options.ttl : hold.claim.ttl),
      kept_until_(now + options.keep) {}

Hold LeaseRecord::hold_at(BootTime now) const {
  Hold now_held = hold;
  now_held.claim.ttl = std::max(ttl_, kept_until_ - now);
  return now_held;
}

LeaseRecord::~LeaseRecord() {
  if (watchdog_) watchdog_->forget(*this);
  if (renewer_) renewer_->forget(*this);
}

void LeaseRecord::on_time() { renewer_->on_time(*this); }

std::optional<BootTime> LeaseRecord::look(BootTime now) noexcept {
  // The order matters: a renewal may come in between, and moves the end on.
  const BootTime lost_at = validity.lost_at();
  if (!validity.held(now)) return std::nullopt;
  return std::max(lost_at, now + Duration(1));
}

std::shared_ptr<Watchdog::Ward> LeaseRecord::share() noexcept {
  // Not shared_from_this(): the last owner may be letting go of us right now.
  const std::shared_ptr<LeaseRecord> shared = weak_from_this().lock();
  return {shared, shared.get()};
}

}  // namespace holdfast::internal
