#include "holdfast/mutex.h"

#include "recipes/thread_leases.h"

namespace holdfast {

Mutex::Mutex(LockRequest request)
    : LockRequest(std::move(request)), leases_(std::make_unique<internal::ThreadLeases>()) {}

Mutex::~Mutex() = default;
Mutex::Mutex(Mutex&&) noexcept = default;
Mutex& Mutex::operator=(Mutex&&) noexcept = default;

void Mutex::lock() {
  if (mine()) {
    throw LockError(Failure(
        Code::would_deadlock,
        "this thread holds the mutex '" + name().display() + "' already; use a RecursiveMutex"));
  }
  Lease lease = acquire().value();  // Says so if the mutex was moved from, and has no leases_.
  leases_->put(std::move(lease));
}

bool Mutex::mine() const { return leases_ && leases_->has_mine(); }

bool Mutex::try_lock() { return !mine() && try_lock_by(try_acquire()); }

bool Mutex::try_lock_by(Result<Lease> lease) {
  if (!lease && lease.code() == Code::busy) return false;
  Lease granted = std::move(lease).value();
  leases_->put(std::move(granted));
  return true;
}

void Mutex::unlock() noexcept {
  // The lease releases itself; like every destructor, within a bound and without throwing.
  if (leases_) const Lease lease = leases_->take();
}

Token Mutex::token() const {
  const Lease* lease = leases_ ? leases_->find() : nullptr;
  return lease ? lease->token() : Token();
}

bool Mutex::held() const {
  const Lease* lease = leases_ ? leases_->find() : nullptr;
  return lease && lease->held();
}

std::stop_token Mutex::lost() const {
  const Lease* lease = leases_ ? leases_->find() : nullptr;
  return lease ? lease->lost() : std::stop_token();
}

}  // namespace holdfast
