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

MultiLease::Records MultiLease::take_records() {
  Records records;
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

BootTime MultiLease::valid_until() const {
  if (leases_.empty()) throw LockError(Failure(Code::closed, "this multi-lock is empty"));
  BootTime first = BootTime::max();
  for (const Lease& lease : leases_) first = std::min(first, lease.valid_until());
  return first;
}

Task<Result<void>> MultiLease::renew_each(Records records) {
  Result<void> outcome;
  for (const std::shared_ptr<internal::LeaseRecord>& record : records) {
    const Result<void> renewed = co_await record->locker().renew(record);
    if (!renewed && outcome) outcome = renewed;
  }
  co_return outcome;
}

Async<Result<void>> MultiLease::async_renew() {
  if (leases_.empty()) return Async<Result<void>>(Result<void>());
  Records records;
  for (const Lease& lease : leases_) records.push_back(lease.record_);
  std::shared_ptr<internal::Loop> loop = records.front()->locker().shared_loop();
  return {std::move(loop), renew_each(std::move(records))};
}

Result<void> MultiLease::renew() { return async_renew().get(); }

Task<Result<std::vector<Handle>>> MultiLease::detach_owned(MultiLease all) {
  const std::shared_ptr<internal::Locker> locker = all.leases_.front().record_->shared_locker();
  std::vector<Handle> handles;
  for (Lease& lease : all.leases_) {
    Result<Handle> handle = co_await locker->detach(lease.record_);
    if (handle) {
      handles.push_back(std::move(*handle));
      lease.record_ = nullptr;
      continue;
    }
    for (const Handle& taken : handles) {
      static_cast<void>(co_await locker->release_detached(taken.hold()));
    }
    const Deadline deadline =
        Deadline::at(locker->runtime().now() + locker->options().release_timeout + kGrace);
    static_cast<void>(co_await locker->release_all(all.take_records(), deadline));
    co_return handle.failure();
  }
  all.leases_.clear();
  co_return handles;
}

Async<Result<std::vector<Handle>>> MultiLease::async_detach() {
  if (leases_.empty()) return Async<Result<std::vector<Handle>>>(std::vector<Handle>());
  std::shared_ptr<internal::Loop> loop = leases_.front().record_->locker().shared_loop();
  return {std::move(loop), detach_owned(std::move(*this))};
}

std::optional<Failure> MultiLease::not_here() {
  const std::shared_ptr<internal::Locker> locker = leases_.front().record_->shared_locker();
  if (locker->loop().inside()) {
    return Failure(Code::would_deadlock, "a blocking call inside the client's own loop");
  }
  if (!locker->forked()) return std::nullopt;
  return leases_.front().release().failure();  // It says so, and stays what it was.
}

Result<std::vector<Handle>> MultiLease::detach() {
  if (leases_.empty()) return std::vector<Handle>();
  if (std::optional<Failure> why = not_here()) return std::move(*why);
  return async_detach().get();
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
}

Result<void> MultiLease::release() {
  if (leases_.empty()) return {};
  if (std::optional<Failure> why = not_here()) return std::move(*why);
  return async_release().get();
}

// ---- Taking --------------------------------------------------------------------------------------

MultiLock::MultiLock(std::vector<LockRequest> requests) {
  for (std::size_t i = 1; i < requests.size(); ++i) {
    const bool sorted = requests[i - 1].name() < requests[i].name();
    if (sorted && requests[i - 1].locker_ == requests[i].locker_) continue;
    throw LockError(Failure(Code::invalid_argument,
                            "the locks of a multi-lock must be of one client, sorted by name, no "
                            "name twice; let Client::multi_lock make it"));
  }
  for (const LockRequest& request : requests) request.checked();
  requests_ = std::make_shared<const Requests>(std::move(requests));
}

Task<Result<MultiLease>> MultiLock::take(std::shared_ptr<const Requests> requests, Wait wait) {
  internal::Locker& locker = requests->front().checked();
  std::vector<Lease> leases;
  for (const LockRequest& request : *requests) {
    Result<Lease> lease = co_await request.task(wait);
    if (lease) {
      leases.push_back(std::move(lease).value());
      continue;
    }
    const Deadline deadline = Deadline::at(locker.runtime().now() + kGrace);
    MultiLease taken(std::move(leases));
    static_cast<void>(co_await locker.release_all(taken.take_records(), deadline));
    co_return lease.failure();
  }
  MultiLease all(std::move(leases));
  // Waiting for the last can take so long that the first is gone.
  if (all.held()) co_return all;
  co_return Failure(Code::not_held, "a lock was lost while waiting for the others; try again");
}

Async<Result<MultiLease>> MultiLock::begin(bool queue, std::optional<Duration> patience,
                                           std::stop_token stop) {
  using Answer = Async<Result<MultiLease>>;
  if (!requests_) return Answer(Failure(Code::closed, "this multi-lock was moved from"));
  if (requests_->empty()) return Answer(MultiLease());
  const LockRequest& first = requests_->front();
  Wait wait{.deadline = Deadline::never(), .queue = queue, .stop = {}};
  if (!queue) wait.deadline = first.checked().request_deadline();
  if (patience) wait.deadline = first.deadline_after(*patience);
  return internal::stoppable(first.checked().shared_loop(), std::move(stop),
                             [&](std::stop_token own) {
                               wait.stop = std::move(own);
                               return take(requests_, wait);
                             });
}

Async<Result<MultiLease>> MultiLock::async_acquire(std::stop_token stop) {
  return begin(true, std::nullopt, std::move(stop));
}

Async<Result<MultiLease>> MultiLock::async_try_acquire() { return begin(false, std::nullopt, {}); }

Async<Result<MultiLease>> MultiLock::async_try_acquire_for(Duration patience,
                                                           std::stop_token stop) {
  return begin(true, patience, std::move(stop));
}

Result<MultiLease> MultiLock::acquire(std::stop_token stop) {
  return async_acquire(std::move(stop)).get();
}

Result<MultiLease> MultiLock::try_acquire() { return async_try_acquire().get(); }

Result<MultiLease> MultiLock::try_acquire_for(Duration patience, std::stop_token stop) {
  return async_try_acquire_for(patience, std::move(stop)).get();
}

}  // namespace holdfast
