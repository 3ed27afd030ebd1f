// Doing again what got no answer.
#pragma once

#include <algorithm>
#include <stop_token>

#include "holdfast/result.h"
#include "holdfast/runtime.h"

namespace holdfast::internal::memcached {

// An outcome, and whether an earlier attempt may have been executed.
template <class T>
struct Repeated {
  T value;
  bool repeated = false;
};

// Calls `attempt` until its outcome is known, with growing pauses. REQUIRES: it may be executed
// twice. unknown if any attempt was sent and none was answered.
template <class T, class Attempt>
Task<Result<Repeated<T>>> persist(Runtime& runtime, const Attempt& attempt, Deadline deadline,
                                  std::stop_token stop = {}) {
  constexpr Duration kShortest = std::chrono::milliseconds(5);
  constexpr Duration kLongest = std::chrono::milliseconds(200);
  bool repeated = false;
  for (Duration pause = kShortest;; pause = std::min(pause * 2, kLongest)) {
    Result<T> outcome = co_await attempt();
    if (outcome) co_return Repeated<T>{std::move(outcome).value(), repeated};
    const bool unknown = outcome.code() == Code::unknown;
    repeated |= unknown;
    const BootTime again = runtime.now() + runtime.jitter(pause, 0.5);
    if (!unknown || stop.stop_requested() || deadline.passed(again)) {
      if (!repeated || unknown) co_return outcome.failure();
      co_return Failure(Code::unknown, outcome.message());
    }
    static_cast<void>(co_await sleep_until(runtime, again, stop));
  }
}

}  // namespace holdfast::internal::memcached
