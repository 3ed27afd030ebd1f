// RecursiveMutex: a mutex that the thread which holds it can lock again; it is free when it was
// unlocked as often. Re-entry costs no request and keeps the fencing token.
//
// If the lock is lost while it is held, re-entry fails (LockError, not_held) rather than continue
// with a second token under the first critical section. Thread safety: all of it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "holdfast/export.h"
#include "holdfast/lock_request.h"

namespace holdfast {

class HOLDFAST_API RecursiveMutex {
 public:
  explicit RecursiveMutex(LockRequest request);
  ~RecursiveMutex();

  const Name& name() const { return request_.name(); }

  // TimedLockable, as Mutex.
  void lock();
  bool try_lock();
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return reenter() || enter(request_.try_acquire_for(internal::to_patience(patience)));
  }
  template <class Clock, class D>
  bool try_lock_until(const std::chrono::time_point<Clock, D>& moment) {
    return reenter() || enter(request_.try_acquire_until(moment));
  }
  void unlock() noexcept;

  // Of this thread's hold; without one: 0, 0, false and a token that never stops.
  std::size_t depth() const;
  Token token() const;
  bool held() const;
  std::stop_token lost() const;

 private:
  struct Entry {
    Lease lease;
    std::size_t depth = 0;
  };
  bool reenter();
  bool enter(Result<Lease> lease);
  const Entry* mine() const;

  LockRequest request_;
  mutable std::mutex mutex_;
  std::map<std::thread::id, Entry> entries_;
};

}  // namespace holdfast
