#include "recipes/job_store.h"

#include <algorithm>

#include "base/failures.h"

namespace holdfast::internal {

namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(20);
constexpr Duration kLongestPause = std::chrono::seconds(1);
// An attempt may take so long, also if it is the last.
constexpr Duration kShortestAttempt = std::chrono::milliseconds(500);

}  // namespace

Deadline JobStore::limit(Deadline give_up) const {
  const Deadline attempt = give_up.later(locker_.runtime().now() + kShortestAttempt);
  return attempt.is_never() ? locker_.request_deadline()
                            : attempt.sooner(locker_.request_deadline().moment());
}

Task<bool> JobStore::pause_before_next(Code why, Duration& pause, Deadline give_up,
                                       std::stop_token stop) {
  Runtime& runtime = locker_.runtime();
  const BootTime again = runtime.now() + runtime.jitter(pause);
  if (!may_pass(why) || give_up.passed(again)) co_return false;
  pause = std::min(pause * 2, kLongestPause);
  co_return co_await sleep_until(runtime, again, std::move(stop)) != Woken::cancelled;
}

Task<Result<ClockReading>> JobStore::read_clock(Deadline give_up, std::stop_token stop) {
  Runtime& runtime = locker_.runtime();
  for (Duration pause = kFirstPause;;) {
    ClockReading reading;
    reading.now = runtime.wall();
    reading.read_at = runtime.now();
    const Result<std::optional<WallTime>> asked =
        co_await server_time(locker_.engine(), limit(give_up));
    if (asked && !*asked) co_return reading;
    if (asked) {
      // Read at the server some time between then and now.
      reading.uncertain = (runtime.now() - reading.read_at) / 2;
      const auto half = std::chrono::duration_cast<WallTime::duration>(reading.uncertain);
      reading.read_at += reading.uncertain;
      reading.difference = **asked - (reading.now + half);
      reading.now = **asked;
      co_return reading;
    }
    const bool again = co_await pause_before_next(asked.code(), pause, give_up, stop);
    if (!again) co_return asked.failure();
  }
}

Task<Result<std::optional<std::string>>> JobStore::read(Deadline give_up, std::stop_token stop) {
  for (Duration pause = kFirstPause;;) {
    Result<std::optional<std::string>> record =
        co_await read_record(locker_.engine(), name_, limit(give_up));
    if (record) co_return record;
    const bool again = co_await pause_before_next(record.code(), pause, give_up, stop);
    if (!again) co_return record.failure();
  }
}

// Repeated as it is: an attempt that was executed after all is a success of the next one.
Task<Result<bool>> JobStore::swap(std::optional<std::string> expected,
                                  std::optional<std::string> value, Deadline give_up,
                                  std::stop_token stop) {
  for (Duration pause = kFirstPause;;) {
    Result<bool> swapped =
        co_await swap_record(locker_.engine(), name_, expected, value, limit(give_up));
    if (swapped) co_return swapped;
    const bool again = co_await pause_before_next(swapped.code(), pause, give_up, stop);
    if (!again) co_return swapped;
  }
}

}  // namespace holdfast::internal
