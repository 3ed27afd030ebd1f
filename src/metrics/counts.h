// Counts: what the observers of a Metrics have heard. Each call is a hash lookup or two under one mutex; a page is
// rendered from a copy, outside of it.
//
// A call waits from on_wait to on_granted or on_refused. A hold begins with on_granted, and ends with the first of
// on_lost and on_released. Some ends are told to nobody: those of handles. So a hold also stops counting at its
// valid_until, and is forgotten a while after.
//
// A hand-over is from the end of an exclusive hold to the next grant, if that call waited at the end. Whoever waits can
// hear of the grant before the releaser hears that its release succeeded:
//
//   A: hold ──release─────────────────────on_released(A)     B was granted after A, so A had ended:
//   B: wait ──────────────on_granted(B)                       zero, at the release
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/thread_safety.h"
#include "holdfast/metrics.h"
#include "metrics/exposition.h"

namespace holdfast {

class Metrics::Counts {
 public:
  explicit Counts(MetricsOptions options);

  using ByMode = std::array<internal::Series*, 3>;  // null: nothing has happened in this mode
  // A lock that is counted by its own name. The moment is that of the last exclusive hold's end, until the next grant.
  struct Lock {
    ByMode series{};
    std::optional<BootTime> free_since{};
    ClaimId newest{};  // the last one that was granted
    internal::Series* newest_series = nullptr;
  };
  // The counts of one engine's locks; for the calls below only. Never moved or removed.
  struct EngineCounts {
    std::string label;
    std::unordered_map<std::string, Lock> names;  // by the names' bytes
    ByMode others{};                              // of all names beyond the limit
    internal::EngineSeries own{};
  };
  EngineCounts& engine(std::string_view label);

  void wait(EngineCounts& engine, const Claim& claim);
  void retry(EngineCounts& engine, const Claim& claim, Code why);
  void grant(EngineCounts& engine, const Hold& hold, BootTime valid_until);
  void refuse(EngineCounts& engine, const Claim& claim, Code why);
  void renew(EngineCounts& engine, const Hold& hold, BootTime valid_until);
  void fail_renewal(EngineCounts& engine, const Hold& hold, Code why);
  void lose(EngineCounts& engine, const Hold& hold);
  void release(EngineCounts& engine, const Hold& hold, const Result<bool>& how);
  void hear(EngineCounts& engine, const ServerEvent& event);
  void warn(EngineCounts& engine);

  internal::Snapshot snapshot();

 private:
  using Series = internal::Series;
  struct Waiting {
    Series* series;
    BootTime since;
  };
  struct Held {
    Series* series;
    BootTime since;
    BootTime valid_until;
  };
  // The series of a claim; no lock: beyond the limit of names.
  struct Place {
    Lock* lock;
    Series& series;
  };

  Place place_of(EngineCounts& engine, const Claim& claim) HOLDFAST_NEEDS_LOCK(mutex_);
  Series& series_of(EngineCounts& engine, const Claim& claim) HOLDFAST_NEEDS_LOCK(mutex_) {
    return place_of(engine, claim).series;
  }
  static void hand_over(Lock& lock, Series& series, const ClaimId& id, BootTime waits_since,
                        BootTime now);
  static void free(Lock& lock, const ClaimId& id, BootTime now);
  // When the hold surely was one for the last time; none: it had ended before.
  std::optional<BootTime> end_hold(const ClaimId& id, BootTime now) HOLDFAST_NEEDS_LOCK(mutex_);
  void forget_expired(BootTime now) HOLDFAST_NEEDS_LOCK(mutex_);

  const std::size_t max_names_;
  const std::function<BootTime()> clock_;
  internal::CheckedMutex mutex_;
  std::map<std::string, EngineCounts, std::less<>> engines_ HOLDFAST_GUARDED_BY(mutex_);
  std::map<std::string, Series> series_ HOLDFAST_GUARDED_BY(mutex_);          // by labels
  std::unordered_map<ClaimId, Waiting> waiting_ HOLDFAST_GUARDED_BY(mutex_);  // by Claim::call
  std::unordered_map<ClaimId, Held> held_ HOLDFAST_GUARDED_BY(mutex_);        // by Claim::id
  std::size_t look_for_expired_at_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast
