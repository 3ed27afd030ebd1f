#include "holdfast/lease.h"

#include <new>

#include "lease/lease_record.h"
#include "lease/locker.h"

namespace holdfast {

namespace {

using internal::LeaseRecord;
using internal::Locker;

Failure empty_lease() {
  return Failure(Code::closed,
                 "this lease is empty: it was released, detached, moved from, or never granted");
}

LeaseRecord& checked(const std::shared_ptr<LeaseRecord>& record) {
  if (!record) throw LockError(empty_lease());
  return *record;
}

// Keeps what `task` works on alive until it has ended.
template <class T>
Task<T> keeping(std::shared_ptr<LeaseRecord> /*record*/, Task<T> task) {
  co_return co_await std::move(task);
}

// Nobody waits for it.
Task<void> release_later(std::shared_ptr<LeaseRecord> record) {
  static_cast<void>(co_await internal::contained(record->locker().release(record)));
}

void give_back(std::shared_ptr<LeaseRecord> record) noexcept {
  if (!record) return;
  Locker& locker = record->locker();
  try {
    if (locker.loop().inside()) {
      locker.release_in_background(record);
    } else if (internal::Loop::current()) {
      // Another client's loop, which must not wait for ours: ours may wait for it.
      locker.loop().start(release_later(record));
    } else {
      static_cast<void>(
          internal::run_blocking(locker.loop(), keeping(record, locker.release(record))));
    }
  } catch (...) {
    // A forked child, or no memory: the lock ends by its ttl. The renewer still knows the record.
    static_cast<void>(new (std::nothrow) std::shared_ptr<LeaseRecord>(std::move(record)));
  }
}

}  // namespace

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    give_back(std::exchange(record_, std::move(other.record_)));
    other.record_ = nullptr;
  }
  return *this;
}

Lease::~Lease() { give_back(std::move(record_)); }

const Name& Lease::name() const { return checked(record_).hold.claim.name; }
Token Lease::token() const { return checked(record_).hold.token; }
Mode Lease::mode() const { return checked(record_).hold.claim.mode; }
BootTime Lease::valid_until() const { return checked(record_).validity.valid_until(); }

Handle Lease::handle() const { return Handle(checked(record_).hold); }

std::stop_token Lease::lost() const {
  LeaseRecord& record = checked(record_);
  if (!record.locker().forked()) return record.loss.token();
  // Nothing is held here, and nobody would ever say so. (A mutex may be held by a thread of the parent's.)
  std::stop_source lost;
  lost.request_stop();
  return lost.get_token();
}

bool Lease::held() const noexcept {
  return record_ && !record_->locker().forked() &&
         record_->validity.held(record_->locker().runtime().now());
}

Async<Result<void>> Lease::async_renew() {
  if (!record_) return Async<Result<void>>(empty_lease());
  Locker& locker = record_->locker();
  return {locker.shared_loop(), locker.renew(record_)};
}

Result<void> Lease::renew() { return async_renew().get(); }

Result<void> Lease::release() {
  if (!record_) return empty_lease();
  Locker& locker = record_->locker();
  Result<void> outcome =
      internal::run_blocking(locker.loop(), keeping(record_, locker.release(record_)));
  // If the call could not even be made, the lease stays what it was.
  const bool made =
      outcome || (outcome.code() != Code::would_deadlock && outcome.code() != Code::forked);
  if (made) record_ = nullptr;
  return outcome;
}

// Owns the lease: if it is never started, the lease is given back by its destructor.
Task<Result<void>> Lease::release_owned(Lease lease) {
  const std::shared_ptr<LeaseRecord> record = std::move(lease.record_);
  co_return co_await record->locker().release(record);
}

Async<Result<void>> Lease::async_release() {
  if (!record_) return Async<Result<void>>(empty_lease());
  std::shared_ptr<internal::Loop> loop = record_->locker().shared_loop();
  return {std::move(loop), release_owned(std::move(*this))};
}

// As release_owned().
Task<Result<Handle>> Lease::detach_owned(Lease lease) {
  Result<Handle> handle = co_await lease.record_->locker().detach(lease.record_);
  if (handle) lease.record_ = nullptr;
  co_return handle;
}

Async<Result<Handle>> Lease::async_detach() {
  if (!record_) return Async<Result<Handle>>(empty_lease());
  std::shared_ptr<internal::Loop> loop = record_->locker().shared_loop();
  return {std::move(loop), detach_owned(std::move(*this))};
}

Result<Handle> Lease::detach() {
  if (!record_) return empty_lease();
  Locker& locker = record_->locker();
  Result<Handle> handle = internal::run_blocking(locker.loop(), locker.detach(record_));
  if (handle) record_ = nullptr;
  return handle;
}

void Lease::abandon() noexcept {
  if (!record_) return;
  const std::shared_ptr<LeaseRecord> record = std::move(record_);
  try {
    record->locker().loop().start(record->locker().abandon(record));
  } catch (...) {  // As in give_back().
    static_cast<void>(new (std::nothrow) std::shared_ptr<LeaseRecord>(record));
  }
}

}  // namespace holdfast
