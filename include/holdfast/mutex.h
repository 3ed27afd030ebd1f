// Mutex: one holder at a time, across processes and machines.
//
//   auto mutex = client.mutex("nightly-report");
//   auto lease = mutex.acquire();            // Result<Lease>: prefer this form
//   std::scoped_lock guard(mutex);           // or the standard one: throws LockError on failure
//
// The lock()/unlock() form is for code that takes any TimedLockable. There the owner is the thread
// and this object, as with std::mutex; with acquire() the owner is the lease.
// Thread safety: all of it.
#pragma once

#include <memory>
#include <stop_token>

#include "holdfast/export.h"
#include "holdfast/lock_request.h"

namespace holdfast {

namespace internal {
// The leases taken by lock(), kept per thread: a thread whose lease was lost must not, by its
// unlock(), release the lease of the thread that came after it.
class ThreadLeases;
}  // namespace internal

class HOLDFAST_API Mutex : public LockRequest {
 public:
  explicit Mutex(LockRequest request);
  ~Mutex();
  Mutex(Mutex&&) noexcept;
  Mutex& operator=(Mutex&&) noexcept;

  // TimedLockable. Throws LockError when the engine fails, or with would_deadlock when this
  // thread holds it already. try_lock… return false for busy only.
  void lock();
  bool try_lock();
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return !mine() && try_lock_by(try_acquire_for(internal::to_patience(patience)));
  }
  template <class Clock, class D>
  bool try_lock_until(const std::chrono::time_point<Clock, D>& moment) {
    return !mine() && try_lock_by(try_acquire_until(moment));
  }
  // REQUIRES: this thread holds it. A lost lock is dropped silently; ask held() or lost() before.
  void unlock() noexcept;

  // Of the lock that this thread took by lock(): its token, whether it is still held, and the
  // signal of its loss. Without one: token 0, false, and a token that never stops.
  Token token() const;
  bool held() const;
  std::stop_token lost() const;

 private:
  bool mine() const;  // this thread has locked it
  bool try_lock_by(Result<Lease> lease);
  std::unique_ptr<internal::ThreadLeases> leases_;
};

}  // namespace holdfast
