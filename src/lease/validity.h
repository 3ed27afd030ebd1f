// How long a grant may be believed. Pure arithmetic, and the one atomic word that holds its
// result: everything that a lease promises about time is decided here.
//
// Risks, and their prevention:
//  - counting from the reply: a reply that was under way for a second would prolong the belief by
//    a second. Counted from before the request was sent.
//  - clocks that run at different rates: 1 % + 2 ms are taken off.
//  - a lease that was seen as lost and then comes back, because the renewal's reply was processed
//    late: held() latches the loss, and extend() fails after it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

struct Validity {
  BootTime valid_until;  // another client may hold the lock from here on
  BootTime lost_at;      // lost() fires here, if no renewal succeeded before
};

constexpr Duration drift_of(Duration ttl) { return ttl / 100 + std::chrono::milliseconds(2); }

constexpr Duration warning_of(Duration ttl, std::optional<Duration> wanted) {
  const Duration longest = ttl / 2;
  if (wanted) return std::clamp(*wanted, Duration(0), longest);
  return std::min<Duration>(ttl / 10, std::chrono::seconds(5));
}

inline Validity validity_of(const Grant& grant, std::optional<Duration> warn_before) {
  const BootTime valid_until = grant.counted_from + grant.ttl - drift_of(grant.ttl);
  return {valid_until, valid_until - warning_of(grant.ttl, warn_before)};
}

// The validity of a lease as every thread sees it.
//
//   held ──extend──► held           extend() fails once lost
//     └──expiry seen by held(), or lose()──► lost, for ever
class ValidityWord {
 public:
  explicit ValidityWord(Validity validity)
      : lost_at_(count(validity.lost_at)), valid_until_(count(validity.valid_until)) {}

  bool held(BootTime now) noexcept {
    std::int64_t lost_at = lost_at_.load(std::memory_order_acquire);
    while (lost_at != kLost) {
      if (count(now) < lost_at) return true;
      // Expired: latch it, unless a renewal extended it this very moment.
      if (lost_at_.compare_exchange_weak(lost_at, kLost, std::memory_order_acq_rel)) return false;
    }
    return false;
  }

  // False if the lease is lost already, or expired by `now`: then it is lost for good. Never
  // shortens.
  bool extend(Validity validity, BootTime now) noexcept {
    std::int64_t lost_at = lost_at_.load(std::memory_order_acquire);
    for (;;) {
      if (lost_at == kLost) return false;
      if (count(now) >= lost_at) {
        if (lost_at_.compare_exchange_weak(lost_at, kLost, std::memory_order_acq_rel)) return false;
        continue;
      }
      if (count(validity.lost_at) <= lost_at) return true;
      // First the end, then the belief: a thread that sees the new belief sees the new end.
      valid_until_.store(count(validity.valid_until), std::memory_order_release);
      if (lost_at_.compare_exchange_weak(lost_at, count(validity.lost_at),
                                         std::memory_order_acq_rel)) {
        return true;
      }
    }
  }

  void lose() noexcept { lost_at_.store(kLost, std::memory_order_release); }
  bool lost() const noexcept { return lost_at_.load(std::memory_order_acquire) == kLost; }

  // REQUIRES: called by the renewer, which alone extends. Not meaningful once lost.
  BootTime lost_at() const { return BootTime(Duration(lost_at_.load(std::memory_order_acquire))); }
  BootTime valid_until() const noexcept {
    return BootTime(Duration(valid_until_.load(std::memory_order_acquire)));
  }

 private:
  static constexpr std::int64_t kLost = INT64_MIN;
  static std::int64_t count(BootTime moment) { return moment.time_since_epoch().count(); }

  std::atomic<std::int64_t> lost_at_;
  std::atomic<std::int64_t> valid_until_;
};

}  // namespace holdfast::internal
