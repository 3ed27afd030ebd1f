#include "holdfast/lock_request.h"

#include <algorithm>

#include "lease/locker.h"

namespace holdfast {

using internal::run_blocking;

namespace {

Failure moved_lock() { return Failure(Code::closed, "this lock, or its client, was moved from"); }

}  // namespace

LockRequest::LockRequest(std::shared_ptr<internal::Locker> locker, Claim claim, LockOptions options)
    : locker_(std::move(locker)), claim_(std::move(claim)), options_(options) {
  claim_.ttl = std::max(options_.ttl, options_.keep);
  claim_.outlives_process = options_.outlives_process || options_.keep > Duration::zero();
  // A label that came with the claim is a candidate's value: all that others may read there.
  if (claim_.label.empty()) {
    const ClientOptions& client = checked().options();
    claim_.label = options_.label.empty() ? client.label : options_.label.str();
    claim_.owner = options_.owner.empty() ? client.owner : options_.owner.str();
  }
  checked().check(claim_, options_).value();
}

internal::Locker& LockRequest::checked() const {
  if (!locker_) throw LockError(moved_lock());
  return *locker_;
}

Task<Result<Lease>> LockRequest::task(Wait wait) const {
  return locker_->acquire(claim_, options_, std::move(wait));
}

Result<Lease> LockRequest::acquire_by(Deadline deadline, std::stop_token stop) {
  if (!locker_) return moved_lock();
  return run_blocking(locker_->loop(), task({.deadline = deadline, .stop = std::move(stop)}));
}

Deadline LockRequest::deadline_after(Duration patience) const {
  return Deadline::at(checked().runtime().now() + std::min(patience, internal::kLongestPatience));
}

Result<Lease> LockRequest::acquire(std::stop_token stop) {
  return acquire_by(Deadline::never(), std::move(stop));
}

Result<Lease> LockRequest::try_acquire() {
  if (!locker_) return moved_lock();
  return run_blocking(locker_->loop(),
                      task({.deadline = locker_->request_deadline(), .queue = false}));
}

Result<Lease> LockRequest::try_acquire_for(Duration patience, std::stop_token stop) {
  if (!locker_) return moved_lock();
  return acquire_by(deadline_after(patience), std::move(stop));
}

bool LockRequest::forked() const { return locker_ && locker_->forked(); }

Async<Result<Lease>> LockRequest::begin(Wait wait) {
  return internal::stoppable(locker_->shared_loop(), wait.stop, [&](std::stop_token stop) {
    return task({.deadline = wait.deadline, .queue = wait.queue, .stop = std::move(stop)});
  });
}

Async<Result<Lease>> LockRequest::async_acquire(std::stop_token stop) {
  if (!locker_) return Async<Result<Lease>>(moved_lock());
  return begin({.stop = std::move(stop)});
}

Async<Result<Lease>> LockRequest::async_try_acquire() {
  if (!locker_) return Async<Result<Lease>>(moved_lock());
  return begin({.deadline = locker_->request_deadline(), .queue = false});
}

Async<Result<Lease>> LockRequest::async_try_acquire_for(Duration patience, std::stop_token stop) {
  if (!locker_) return Async<Result<Lease>>(moved_lock());
  return begin({.deadline = deadline_after(patience), .stop = std::move(stop)});
}

Async<Result<Handle>> LockRequest::async_acquire_detached(Wait wait) {
  if (!locker_) return Async<Result<Handle>>(moved_lock());
  return internal::stoppable(locker_->shared_loop(), wait.stop, [&](std::stop_token stop) {
    Wait own{.deadline = wait.deadline, .queue = wait.queue, .stop = std::move(stop)};
    return locker_->acquire_detached(claim_, std::move(own));
  });
}

Result<Handle> LockRequest::acquire_detached(Wait wait) {
  return async_acquire_detached(std::move(wait)).get();
}

}  // namespace holdfast
