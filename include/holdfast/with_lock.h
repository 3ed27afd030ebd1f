// with_lock: run a function under a lock, with the loss of the lock and the token in hand.
//
//   auto total = holdfast::with_lock(mutex, [&](std::stop_token lost, holdfast::Token token) {
//     return ledger.append(entry, token);   // stop early if lost.stop_requested()
//   });
//
// The function may take a Ticket instead of the Token: what a fence wants to see, with the mode of
// the lock (see ticket.h). A Token alone counts as exclusive there.
//
// Returns what the function returned; not_held if the lock was lost before it ended (its result
// is dropped: it may rest on data that somebody else has changed); or why there was no lock. An
// exception of the function's passes through, with the lock released.
#pragma once

#include <stop_token>
#include <type_traits>
#include <utility>

#include "holdfast/lock_request.h"
#include "holdfast/ticket.h"

namespace holdfast {

namespace internal {

// The argument that `F` takes. Ticket is tried first: a function that takes one could be given a
// Token as well, and would not learn the mode.
template <class F>
using ShownTo =
    std::conditional_t<std::is_invocable_v<F, std::stop_token, const Ticket&>, Ticket, Token>;

template <class F>
ShownTo<F> shown_to(const Lease& lease) {
  if constexpr (std::is_same_v<ShownTo<F>, Ticket>)
    return Ticket(lease);
  else
    return lease.token();
}

}  // namespace internal

template <class F>
auto with_lock(LockRequest& lock, F&& function, std::stop_token stop = {})
    -> Result<std::invoke_result_t<F, std::stop_token, internal::ShownTo<F>>> {
  using R = std::invoke_result_t<F, std::stop_token, internal::ShownTo<F>>;
  Result<Lease> lease = lock.acquire(std::move(stop));
  if (!lease) return lease.failure();
  auto lost = [&] {
    return Failure(Code::not_held, "the lock '" + lock.name().display() +
                                       "' was lost while the function ran; its result is dropped");
  };
  auto run = [&] {
    return std::forward<F>(function)(lease->lost(), internal::shown_to<F>(*lease));
  };
  if constexpr (std::is_void_v<R>) {
    run();
    if (!lease->held()) return lost();
    return lease->release();
  } else {
    R result = run();
    if (!lease->held()) return lost();
    if (Result<void> released = lease->release(); !released) return released.failure();
    return result;
  }
}

}  // namespace holdfast
