// Counts: what the observers of a Metrics have heard. Each call is a hash lookup or two under one mutex; a page is
// rendered from a copy, outside of it.
//
// A call waits from on_wait to on_granted or on_refused. A hold begins with on_granted, and ends with the first of
// on_lost and on_released. Some ends are told to nobody: a lease that is detached lives on as a handle. So a hold also
// stops counting at its valid_until, and is forgotten a while after.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
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
  // The counts of one engine's locks; for the calls below only. Never moved or removed.
  struct EngineCounts {
    std::string label;
    std::unordered_map<std::string, ByMode> names;  // by the names' bytes
    ByMode others{};                                // of all names beyond the limit
    std::uint64_t warnings = 0;
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

  Series& series_of(EngineCounts& engine, const Claim& claim) HOLDFAST_NEEDS_LOCK(mutex_);
  void end_hold(const ClaimId& id, BootTime now) HOLDFAST_NEEDS_LOCK(mutex_);
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
