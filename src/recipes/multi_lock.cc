#include "holdfast/multi_lock.h"

#include <algorithm>

#include "lease/locker.h"

namespace holdfast {

namespace {

// For releases to be answered after the call's own time is over.
constexpr Duration kGrace = std::chrono::milliseconds(250);

}  // namespace

MultiLease::MultiLease(std::vector<Lease> leases) : leases_(std::move(leases)) {
  for (const Lease& lease : leases_) {
    if (lease && lease.record_->shared_locker() == leases_.front().record_->shared_locker()) {
      continue;
    }
    // Leases that were taken over are released, each by its own client.
    throw LockError(
        Failure(Code::invalid_argument,
                "the leases of a multi-lock must be of one client, none of them empty"));
  }
  any_lost_ = std::stop_source();
  for (const Lease& lease : leases_) lease.record_->loss.also_trigger(any_lost_);
}

MultiLease& MultiLease::operator=(MultiLease&& other) noexcept {
  if (this != &other) {
    const MultiLease released = std::move(*this);
    leases_ = std::exchange(other.leases_, {});
    any_lost_ = std::exchange(other.any_lost_, std::stop_source(std::nostopstate));
  }
  return *this;
}

MultiLease::~MultiLease() {
  if (leases_.empty()) return;
  // A lease that is destroyed inside a loop is released in the background; in a forked child, not at all.
  if (internal::Loop::current() || leases_.front().record_->locker().forked()) return;
  try {
    static_cast<void>(release());
  } catch (...) {
    // No memory: each is released by its own destructor, or ends by its ttl.
  }
}

std::vector<std::shared_ptr<internal::LeaseRecord>> MultiLease::take_records() {
  std::vector<std::shared_ptr<internal::LeaseRecord>> records;
  records.reserve(leases_.size());
  for (Lease& lease : leases_) {
    if (lease) records.push_back(std::move(lease.record_));
  }
  leases_.clear();
  return records;
}

Token MultiLease::token(const Name& name) const {
  const auto found = std::find_if(leases_.begin(), leases_.end(),
                                  [&](const Lease& lease) { return lease.name() == name; });
  if (found == leases_.end()) {
    throw LockError(Failure(Code::not_held, "'" + name.display() + "' is not in this multi-lock"));
  }
  return found->token();
}

bool MultiLease::held() const noexcept {
  return !leases_.empty() &&
         std::all_of(leases_.begin(), leases_.end(), [](const Lease& one) { return one.held(); });
}

std::stop_token MultiLease::lost() const {
  if (!leases_.empty() && leases_.front().record_->locker().forked()) return leases_[0].lost();
  return any_lost_.get_token();
}

}

// Each lease that is not given back here is released by its destructor, when this frame ends.
Task<Result<void>> MultiLease::release_owned(MultiLease all) {
  const std::shared_ptr<internal::Locker> locker = all.leases_.front().record_->shared_locker();
  const Deadline deadline =
      Deadline::at(locker->runtime().now() + locker->options().release_timeout + kGrace);
  co_return co_await locker->release_all(all.take_records(), deadline);
}

Async<Result<void>> MultiLease::async_release() {
  if (leases_.empty()) return Async<Result<void>>(Result<void>());
  std::shared_ptr<internal::Loop> loop = leases_.front().record_->locker().shared_loop();
  return {std::move(loop), release_owned(std::move(*this))};
