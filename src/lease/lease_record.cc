#include "lease/lease_record.h"

#include "lease/renewer.h"

namespace holdfast::internal {

LeaseRecord::LeaseRecord(std::shared_ptr<Locker> locker, Hold the_hold, const LockOptions& options,
                         Validity the_validity)
    : hold(std::move(the_hold)),
      validity(the_validity),
      locker_(std::move(locker)),
      warn_before_(options.warn_before),
      auto_renew_(options.auto_renew) {}

LeaseRecord::~LeaseRecord() {
  if (renewer_) renewer_->forget(*this);
}

void LeaseRecord::on_time() { renewer_->on_time(*this); }

}  // namespace holdfast::internal
