#include "holdfast/lock_request.h"

#include <algorithm>

#include "lease/locker.h"

namespace holdfast {

using internal::run_blocking;

LockRequest::LockRequest(std::shared_ptr<internal::Locker> locker, Claim claim, LockOptions options)
    : locker_(std::move(locker)), claim_(std::move(claim)), options_(options) {
  claim_.ttl = std::max(options_.ttl, options_.keep);
  claim_.outlives_process = options_.keep > Duration::zero();
  if (claim_.label.empty()) claim_.label = checked().options().label;
  checked().check(claim_, options_).value();
}

internal::Locker& LockRequest::checked() const {
  if (!locker_) throw LockError(Failure(Code::closed, "this lock, or its client, was moved from"));
  return *locker_;
}

Result<Lease> LockRequest::acquire_by(Deadline deadline, std::stop_token stop) {
  const Wait wait{.deadline = deadline, .queue = true, .stop = std::move(stop)};
  return run_blocking(checked().loop(), checked().acquire(claim_, options_, wait));
}

Deadline LockRequest::deadline_after(Duration patience) const {
  return Deadline::at(checked().runtime().now() + std::min(patience, internal::kLongestPatience));
}

Result<Lease> LockRequest::acquire(std::stop_token stop) {
  return acquire_by(Deadline::never(), std::move(stop));
}

Result<Lease> LockRequest::try_acquire() {
  const Wait wait{.deadline = checked().request_deadline(), .queue = false, .stop = {}};
  return run_blocking(checked().loop(), checked().acquire(claim_, options_, wait));
}

Result<Lease> LockRequest::try_acquire_for(Duration patience, std::stop_token stop) {
  return acquire_by(deadline_after(patience), std::move(stop));
}

bool LockRequest::forked() const { return locker_ && locker_->forked(); }

Async<Result<Lease>> LockRequest::begin(Wait wait) {
  return {checked().shared_loop(), checked().acquire(claim_, options_, std::move(wait))};
}

Async<Result<Lease>> LockRequest::async_acquire(std::stop_token stop) {
  return begin(Wait{.deadline = Deadline::never(), .queue = true, .stop = std::move(stop)});
}

Async<Result<Lease>> LockRequest::async_try_acquire() {
  return begin(Wait{.deadline = checked().request_deadline(), .queue = false, .stop = {}});
}

Async<Result<Lease>> LockRequest::async_try_acquire_for(Duration patience, std::stop_token stop) {
  return begin(Wait{.deadline = deadline_after(patience), .queue = true, .stop = std::move(stop)});
}

Result<Handle> LockRequest::acquire_detached(Wait wait) {
  return run_blocking(checked().loop(), checked().acquire_detached(claim_, std::move(wait)));
}

}  // namespace holdfast
