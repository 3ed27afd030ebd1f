// Locker: the core of a client. It asks the engine, turns grants into leases, cleans up what is
// unknown, and gives locks back. Written once, as coroutines on a Runtime: the blocking calls,
// the asynchronous ones and the simulation all run this code.
//
// Inside the loop only, except the accessors and check().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fork_watch.h"
#include "holdfast/async.h"
#include "holdfast/engine.h"
#include "holdfast/lease.h"
#include "holdfast/options.h"
#include "lease/lease_record.h"
#include "lease/renewer.h"

namespace holdfast::internal {

class Locker {
 public:
  // `loop` and `watchdog` must be of the same client as `runtime`; all must outlive the locker. No watchdog
  // in a simulation. Call set_self() before anything else.
  Locker(Runtime& runtime, Loop& loop, std::unique_ptr<Engine> engine, ClientOptions options,
         Watchdog* watchdog = nullptr);
  ~Locker();

  // The owner of this locker and of all that it stands on: every lease keeps it alive.
  void set_self(std::weak_ptr<Locker> self) { self_ = std::move(self); }

  Runtime& runtime() const { return runtime_; }
  Loop& loop() const { return loop_; }
  // The loop, kept alive together with this locker.
  std::shared_ptr<Loop> shared_loop() const { return {self_.lock(), &loop_}; }
  Engine& engine() const { return *engine_; }
  // True in a forked child: everything here is the parent's.
  bool forked() const { return fork_watch_.forked(); }
  const ClientOptions& options() const { return options_; }

  // Whether such a lock can be had here at all; said when the lock object is made.
  Result<void> check(const Claim& claim, const LockOptions& options) const;

  Task<Result<Lease>> acquire(Claim claim, LockOptions options, Wait wait);
  Task<Result<Handle>> acquire_detached(Claim claim, Wait wait);
  Task<Result<void>> release(std::shared_ptr<LeaseRecord> record);
  // All at the same time. The first failure, if any; `unknown` if the deadline comes first: then they are
  // still released in the background.
  Task<Result<void>> release_all(std::vector<std::shared_ptr<LeaseRecord>> records,
                                 Deadline deadline);
  Task<Result<void>> renew(std::shared_ptr<LeaseRecord> record) {
    return renewer_.renew_now(std::move(record));
  }
  Task<Result<Handle>> detach(std::shared_ptr<LeaseRecord> record);
  // Ends the renewal, and sends nothing.
  Task<void> abandon(std::shared_ptr<LeaseRecord> record);
  Task<Result<Lease>> adopt(Hold hold, LockOptions options);
  Task<Result<void>> renew_detached(Hold hold);
  Task<Result<void>> release_detached(Hold hold);

  // Ends background work and closes the engine, within ClientOptions::release_timeout.
  Task<void> close();

  // As if the process had died: ends background work where it is. For simulated crashes.
  void abandon() { tasks_.abandon(); }

  // A release that nobody waits for (a lease destroyed inside the loop).
  void release_in_background(std::shared_ptr<LeaseRecord> record);

  Deadline request_deadline() const {
    return Deadline::at(runtime_.now() + options_.request_timeout);
  }

 private:
  struct Releases;
  Task<void> release_one(std::shared_ptr<LeaseRecord> record, std::shared_ptr<Releases> releases);
  Result<void> start_watchdog() { return watchdog_ ? watchdog_->start() : Result<void>(); }
  static bool demands(const LockOptions& options);
  // Asks the server what it is, and checks what is required against that.
  Task<Result<void>> check_server(Claim claim, LockOptions options, Deadline deadline);
  void start_over(Claim& claim);
  Task<Result<void>> leave_held(std::shared_ptr<LeaseRecord> record, Deadline deadline);
  Task<Result<Grant>> ask(Claim& claim, const Wait& wait, bool own_id);
  Task<Result<Grant>> prolong(const Claim& claim, Grant grant, const Wait& wait);
  Task<Result<Grant>> obtain(Claim& claim, const Wait& wait, const LockOptions& options);
  Task<void> clean_up(Claim claim);
  // A lease on the grant; empty if the grant is too old to be believed.
  std::shared_ptr<LeaseRecord> keep(Hold hold, const Grant& grant, const LockOptions& options);

  ForkWatch fork_watch_;
  std::weak_ptr<Locker> self_;
  Runtime& runtime_;
  Loop& loop_;
  ClientOptions options_;
  Observer& observer_;
  Watchdog* watchdog_;
  std::unique_ptr<Engine> engine_;
  TaskGroup tasks_;
  Renewer renewer_;
};

}  // namespace holdfast::internal
