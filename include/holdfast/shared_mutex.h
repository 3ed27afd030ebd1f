// SharedMutex: many readers or one writer. A waiting writer is served before readers that came
// after it, so writers do not starve. There is no upgrade: two readers that both want to become
// writers would wait for each other; release first.
//
// Works in std::shared_lock and std::unique_lock. Thread safety: all of it.
#pragma once

#include <memory>
#include <stop_token>

#include "holdfast/export.h"
#include "holdfast/lock_request.h"
#include "holdfast/mutex.h"

namespace holdfast {

class HOLDFAST_API SharedMutex : public Mutex {  // the exclusive side
 public:
  SharedMutex(LockRequest exclusive, LockRequest shared);

  // The shared side, with the same forms as LockRequest.
  LockRequest& shared() { return shared_; }
  Result<Lease> acquire_shared(std::stop_token stop = {}) { return shared_.acquire(stop); }
  Result<Lease> try_acquire_shared() { return shared_.try_acquire(); }
  Result<Lease> try_acquire_shared_for(Duration patience, std::stop_token stop = {}) {
    return shared_.try_acquire_for(patience, stop);
  }

  Async<Result<Lease>> async_acquire_shared(std::stop_token stop = {}) {
    return shared_.async_acquire(std::move(stop));
  }
  Async<Result<Lease>> async_try_acquire_shared() { return shared_.async_try_acquire(); }
  Async<Result<Lease>> async_try_acquire_shared_for(Duration patience, std::stop_token stop = {}) {
    return shared_.async_try_acquire_for(patience, std::move(stop));
  }

  // SharedTimedLockable; errors as in Mutex.
  void lock_shared() { shared_.lock(); }
  bool try_lock_shared() { return shared_.try_lock(); }
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& patience) {
    return shared_.try_lock_for(patience);
  }
  template <class Clock, class D>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, D>& moment) {
    return shared_.try_lock_until(moment);
  }
  void unlock_shared() noexcept { shared_.unlock(); }

 private:
  Mutex shared_;
};

}  // namespace holdfast
