// LockRequest: one way to ask for one lock (its name, mode and options), as often as you like.
// Mutex, SharedMutex and Semaphore are requests with a little more.
//
// Every call comes in the same four forms and two ways:
//   acquire(stop)            waits as long as it takes
//   try_acquire()            does not wait: busy if it is not free, or somebody waits already;
//                            unreachable if there is no server to ask
//   try_acquire_for/until    waits, but only so long; busy when the time is over
// Down is not no: the calls that wait go on asking through refused connections, restarts, failovers
// and elections, until their own time is over (unreachable, if the server is still away then). A
// wrong password, a wrong role or a bad configuration fails at once in all forms.
//   async_…                  the same, as an Async (see async.h): awaited, with a callback, or with Asio (asio.h)
// `stop` cancels from any thread, anywhere in the wait, and leaves nothing behind.
//
// Thread safety: all of it, from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "holdfast/async.h"
#include "holdfast/export.h"
#include "holdfast/lease.h"
#include "holdfast/options.h"
#include "holdfast/result.h"

namespace holdfast {

namespace internal {
class Locker;

// "For ever", in a form to which a moment can be added.
inline constexpr Duration kLongestPatience = std::chrono::hours(24 * 365 * 10);

template <class Rep, class Period>
Duration to_patience(const std::chrono::duration<Rep, Period>& patience) {
  using Wide = std::chrono::duration<long double, std::nano>;  // duration_cast would overflow
  const Wide wide = std::chrono::duration_cast<Wide>(patience);
  return wide >= Wide(kLongestPatience) ? kLongestPatience
                                        : std::chrono::duration_cast<Duration>(wide);
}

// `moment` on any clock, as a moment on ours.
template <class Clock, class D>
BootTime to_boot_time(const std::chrono::time_point<Clock, D>& moment) {
  return BootClock::now() + to_patience(moment - Clock::now());
}
inline BootTime to_boot_time(BootTime moment) { return moment; }
}  // namespace internal

class HOLDFAST_API LockRequest {
 public:
  LockRequest(std::shared_ptr<internal::Locker> locker, Claim claim, LockOptions options);

  const Name& name() const { return claim_.name; }
  const LockOptions& options() const { return options_; }

  Result<Lease> acquire(std::stop_token stop = {});
  Result<Lease> try_acquire();
  Result<Lease> try_acquire_for(Duration patience, std::stop_token stop = {});
  template <class Clock, class D>
  Result<Lease> try_acquire_until(const std::chrono::time_point<Clock, D>& moment,
                                  std::stop_token stop = {}) {
    return acquire_by(Deadline::at(internal::to_boot_time(moment)), std::move(stop));
  }

  Async<Result<Lease>> async_acquire(std::stop_token stop = {});
  Async<Result<Lease>> async_try_acquire();
  Async<Result<Lease>> async_try_acquire_for(Duration patience, std::stop_token stop = {});

  // One deadline for several requests: see MultiLock. Throws LockError (closed) if it was moved from.
  Deadline deadline_after(Duration patience) const;
  Result<Lease> acquire_by(Deadline deadline, std::stop_token stop);

  // For scripts and `holdfast acquire`: a hold that does not end with this process. It is not
  // renewed; see Client::adopt().
  Result<Handle> acquire_detached(Wait wait);
  Async<Result<Handle>> async_acquire_detached(Wait wait);

 private:
  friend class MultiLock;  // asks for several in one call
  friend class RecursiveMutex;
  internal::Locker& checked() const;  // LockError (closed) if it was moved from
  bool forked() const;                // true in a forked child
  // REQUIRES: not moved from.
  Task<Result<Lease>> task(Wait wait) const;
  Async<Result<Lease>> begin(Wait wait);

  std::shared_ptr<internal::Locker> locker_;
  Claim claim_;
  LockOptions options_;
};

}  // namespace holdfast
