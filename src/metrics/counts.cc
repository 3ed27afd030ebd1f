#include "metrics/counts.h"

#include <algorithm>
#include <utility>

#include "base/thread_safety.h"

namespace holdfast {

using internal::CheckedLock;
using internal::Series;
using internal::Snapshot;

namespace {

constexpr std::string_view kOtherNames = "(other)";
// The loss of a lease may be told late, inside a loop that was held up.
constexpr Duration kRemembered = std::chrono::minutes(1);
constexpr std::size_t kFewHolds = 1024;

BootTime boot_time() {
  return BootClock::now();  // layers: allow(clock) an observer has no Runtime
}

}  // namespace

Metrics::Counts::Counts(MetricsOptions options)
    : max_names_(options.max_names),
      clock_(options.clock ? std::move(options.clock) : boot_time),
      look_for_expired_at_(kFewHolds) {}

Metrics::Counts::EngineCounts& Metrics::Counts::engine(std::string_view label) {
  const CheckedLock lock(mutex_);
  EngineCounts& counts = engines_[internal::label_value(label)];
  counts.label = label;
  counts.own.labels = internal::engine_label(label);
  return counts;
}

// By its bytes first, which needs no escaping; then by its labels, because two names can look the same when escaped.
Metrics::Counts::Place Metrics::Counts::place_of(EngineCounts& engine, const Claim& claim) {
  const std::string& name = claim.name.bytes();
  auto known = engine.names.find(name);
  if (known == engine.names.end() && engine.names.size() < max_names_) {
    known = engine.names.emplace(name, Lock{}).first;
  }
  Lock* lock = known != engine.names.end() ? &known->second : nullptr;
  ByMode& by_mode = lock ? lock->series : engine.others;
  Series*& series = by_mode[static_cast<std::size_t>(claim.mode)];
  if (!series) {
    std::string labels =
        internal::series_labels(engine.label, lock ? name : kOtherNames, claim.mode);
    series = &series_[labels];
    series->labels = std::move(labels);
  }
  return {lock, *series};
}

void Metrics::Counts::wait(EngineCounts& engine, const Claim& claim) {
  const CheckedLock lock(mutex_);
  waiting_[claim.call] = {&series_of(engine, claim), claim.since};
}

void Metrics::Counts::retry(EngineCounts& engine, const Claim& claim, Code why) {
  const CheckedLock lock(mutex_);
  series_of(engine, claim).retries.fail(why);
}

// The lock went to a call that may have waited for it since before it became free.
void Metrics::Counts::hand_over(Lock& lock, Series& series, const ClaimId& id, BootTime waits_since,
                                BootTime now) {
  if (lock.free_since && waits_since <= *lock.free_since) {
    series.handovers.observe(now - *lock.free_since);
  }
  lock.free_since.reset();
  lock.newest = id;
  lock.newest_series = &series;
}

// An exclusive hold was released, and it was one until then.
void Metrics::Counts::free(Lock& lock, const ClaimId& id, BootTime now) {
  if (lock.newest == id) {
    lock.free_since = now;
  } else if (lock.newest_series) {
    lock.newest_series->handovers.observe(Duration::zero());
  }
}

void Metrics::Counts::grant(EngineCounts& engine, const Hold& hold, BootTime valid_until) {
  const BootTime now = clock_();
  const CheckedLock guard(mutex_);
  const auto [lock, series] = place_of(engine, hold.claim);
  const auto wait = waiting_.extract(hold.claim.call);
  if (wait) {
    ++series.acquisitions.successes;
    series.granted_waits.observe(now - wait.mapped().since);
  } else {
    ++series.adopted;  // Only what is adopted is granted without a call for it.
  }
  if (lock) hand_over(*lock, series, hold.claim.id, wait ? wait.mapped().since : now, now);
  if (held_.size() >= look_for_expired_at_) forget_expired(now);
  held_[hold.claim.id] = {&series, now, valid_until};
}

void Metrics::Counts::refuse(EngineCounts& engine, const Claim& claim, Code why) {
  const BootTime now = clock_();
  const CheckedLock lock(mutex_);
  Series& series = series_of(engine, claim);
  series.acquisitions.fail(why);
  if (const auto wait = waiting_.extract(claim.call)) {
    series.refused_waits.observe(now - wait.mapped().since);
  }
}

void Metrics::Counts::renew(EngineCounts& engine, const Hold& hold, BootTime valid_until) {
  const CheckedLock lock(mutex_);
  ++series_of(engine, hold.claim).renewals.successes;
  const auto held = held_.find(hold.claim.id);
  if (held != held_.end()) held->second.valid_until = valid_until;
}

void Metrics::Counts::fail_renewal(EngineCounts& engine, const Hold& hold, Code why) {
  const CheckedLock lock(mutex_);
  series_of(engine, hold.claim).renewals.fail(why);
}

void Metrics::Counts::lose(EngineCounts& engine, const Hold& hold) {
  const BootTime now = clock_();
  const CheckedLock guard(mutex_);
  const auto [lock, series] = place_of(engine, hold.claim);
  ++series.losses;
  const std::optional<BootTime> end = end_hold(hold.claim.id, now);
  if (end && lock && hold.claim.mode == Mode::exclusive && lock->newest == hold.claim.id) {
    lock->free_since = end;
  }
}

void Metrics::Counts::release(EngineCounts& engine, const Hold& hold, const Result<bool>& how) {
  const BootTime now = clock_();
  const CheckedLock guard(mutex_);
  const auto [lock, series] = place_of(engine, hold.claim);
  internal::Outcomes& releases = series.releases;
  if (!how) {
    releases.fail(how.code());
  } else if (*how) {
    ++releases.successes;
  } else {
    releases.fail(Code::not_held);
  }
  const std::optional<BootTime> end = end_hold(hold.claim.id, now);
  const bool ended_now = end && how && *how;
  if (ended_now && lock && hold.claim.mode == Mode::exclusive) free(*lock, hold.claim.id, now);
}

void Metrics::Counts::hear(EngineCounts& engine, const ServerEvent& event) {
  const CheckedLock lock(mutex_);
  const auto kind = static_cast<std::size_t>(event.kind);
  if (kind < engine.own.connections.size()) {
    ++engine.own.connections[kind];
  } else {
    engine.own.server_errors.fail(event.why ? event.why->code() : Code::unknown);
  }
}

void Metrics::Counts::warn(EngineCounts& engine) {
  const CheckedLock lock(mutex_);
  ++engine.own.warnings;
}

// Not of a lease that was lost before it is released.
std::optional<BootTime> Metrics::Counts::end_hold(const ClaimId& id, BootTime now) {
  const auto held = held_.extract(id);
  if (!held) return std::nullopt;
  const Held& hold = held.mapped();
  const BootTime end = std::min(now, hold.valid_until);
  hold.series->holds.observe(end - hold.since);
  return end;
}

void Metrics::Counts::forget_expired(BootTime now) {
  std::erase_if(held_, [&](const auto& one) { return one.second.valid_until + kRemembered < now; });
  look_for_expired_at_ = std::max(kFewHolds, 2 * held_.size());
}

Snapshot Metrics::Counts::snapshot() {
  const BootTime now = clock_();
  Snapshot snapshot;
  const CheckedLock lock(mutex_);
  forget_expired(now);
  for (auto& [labels, series] : series_) series.held = series.waiting = 0;
  for (const auto& [id, hold] : held_) hold.series->held += now < hold.valid_until;
  for (const auto& [call, wait] : waiting_) ++wait.series->waiting;
  snapshot.series.reserve(series_.size());
  for (const auto& [labels, series] : series_) snapshot.series.push_back(series);
  for (const auto& [label, engine] : engines_) {
    snapshot.engines.push_back(engine.own);
  }
  return snapshot;
}

}  // namespace holdfast
