// with_lock: run a function under a lock, with the loss of the lock and the token in hand.
//
//   auto total = holdfast::with_lock(mutex, [&](std::stop_token lost, holdfast::Token token) {
//     return ledger.append(entry, token);   // stop early if lost.stop_requested()
//   });
//
// Returns what the function returned; not_held if the lock was lost before it ended (its result
// is dropped: it may rest on data that somebody else has changed); or why there was no lock. An
// exception of the function's passes through, with the lock released.
#pragma once

#include <stop_token>
#include <type_traits>
#include <utility>

#include "holdfast/lock_request.h"

namespace holdfast {

template <class F>
auto with_lock(LockRequest& lock, F&& function, std::stop_token stop = {})
    -> Result<std::invoke_result_t<F, std::stop_token, Token>> {
  using R = std::invoke_result_t<F, std::stop_token, Token>;
  Result<Lease> lease = lock.acquire(std::move(stop));
  if (!lease) return lease.failure();
  auto lost = [&] {
    return Failure(Code::not_held, "the lock '" + lock.name().display() +
                                       "' was lost while the function ran; its result is dropped");
  };
  if constexpr (std::is_void_v<R>) {
    std::forward<F>(function)(lease->lost(), lease->token());
    if (!lease->held()) return lost();
    return lease->release();
  } else {
    R result = std::forward<F>(function)(lease->lost(), lease->token());
    if (!lease->held()) return lost();
    if (Result<void> released = lease->release(); !released) return released.failure();
    return result;
  }
}

}  // namespace holdfast
