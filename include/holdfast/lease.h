// Lease: the caller's handle on a granted lock. The lock belongs to the lease, not to the
// thread or the host. It is renewed in the background until it is released, destroyed or lost.
//
//        granted ──────────► held ──────────► released     release(), destructor, detach()
//                             │ no renewal succeeded in time, or the engine says it is not ours
//                             ▼
//                            lost   (for good: a lost lease never comes back)
//
//   time ──────┬───────────────────────────┬──────────────┬──────────►
//        renewal sent                 lost() fires    valid_until: another
//                                     held() is false  client may hold it
//
// A lease cannot promise that your process was not paused between held() and the write that
// follows it. Give the lease, or token() and mode(), to the resource and let it check (see fence.h).
//
// Thread safety: token(), mode(), held(), valid_until(), lost() and name() from any thread; the rest
// from one thread at a time. Moving it transfers ownership.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "holdfast/async.h"
#include "holdfast/engine.h"
#include "holdfast/export.h"
#include "holdfast/ids.h"
#include "holdfast/result.h"
#include "holdfast/time.h"

namespace holdfast {

namespace internal {
class LeaseRecord;
}

// A hold written down, so that another process can take it over: see Lease::detach(),
// Client::adopt(). It names its owner's secret: whoever has it can release the lock.
class HOLDFAST_API Handle {
 public:
  explicit Handle(Hold hold) : hold_(std::move(hold)) {}
  // One word without spaces: safe in a shell variable or a file.
  std::string text() const;
  static Result<Handle> parse(std::string_view text);
  const Hold& hold() const { return hold_; }

 private:
  Hold hold_;
};

class MultiLease;

class [[nodiscard]] HOLDFAST_API Lease {
 public:
  Lease() = default;  // holds nothing
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;
  // Stops the renewal, then releases, within ClientOptions::release_timeout. Never throws. In a
  // forked child it does nothing: the lock is the parent's.
  ~Lease();

  // False for a default-constructed, moved-from, released or detached lease.
  explicit operator bool() const { return record_ != nullptr; }

  // REQUIRES for the next five: the lease is not empty (LockError, closed).
  const Name& name() const;
  Token token() const;
  // As it was acquired. A fence must know it: see ticket.h.
  Mode mode() const;
  // The moment until which the lock is surely ours, as far as clocks can tell.
  BootTime valid_until() const;
  // Triggered before valid_until passes, or as soon as the engine says that the lock is gone, whatever else
  // the client is busy with. Callbacks registered on it run on a thread of the client's own; they may block,
  // and delay no other lease. (Each callback that blocks occupies a thread: where the process may not start
  // another one, callbacks wait for each other.) In a forked child it is triggered from the beginning; one
  // that was taken from the lease before fork() is never triggered there.
  std::stop_token lost() const;

  // True while the lock is ours; reads the clock, so it is false at once after a suspended process
  // wakes up too late. Once false, false for ever. False for an empty lease, and in a forked child:
  // the lock is the parent's, and nothing tells the child when it ends.
  bool held() const noexcept;

  // Renews now, in addition to the background renewal.
  Result<void> renew();
  Async<Result<void>> async_renew();

  // Gives the lock back and empties the lease. not_held if it had been lost (nothing of anybody
  // else's is touched then); closed if the lease is empty.
  Result<void> release();
  // Empties the lease at once, and gives the lock back when the Async is used, or dropped.
  Async<Result<void>> async_release();

  // The hold, written down while this lease goes on; for one that was acquired with LockOptions::outlives_process.
  // REQUIRES: as above.
  Handle handle() const;

  // Stops renewal and empties the lease without releasing: the lock stays held until its ttl ends
  // or somebody adopts the handle. See Client::adopt().
  Result<Handle> detach();
  // Empties the lease at once. If it fails, or is dropped, the lock is given back.
  Async<Result<Handle>> async_detach();

  // Empties the lease and sends nothing: the lock stays held until its ttl ends, whether this lease was lost or not. For
  // a hold that others renew, too, by a handle; the destructor would end theirs.
  void abandon() noexcept;

 private:
  friend class internal::LeaseRecord;
  friend class MultiLease;  // releases several at the same time
  friend class Once;        // asks whether it is still held
  explicit Lease(std::shared_ptr<internal::LeaseRecord> record) : record_(std::move(record)) {}
  static Task<Result<void>> release_owned(Lease lease);
  static Task<Result<Handle>> detach_owned(Lease lease);

  std::shared_ptr<internal::LeaseRecord> record_;
};

}  // namespace holdfast
