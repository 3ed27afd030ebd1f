#include "top/sight.h"

#include <algorithm>

namespace holdfast::cli::top {
namespace {

void keep_earlier(std::optional<long long>& first, const std::optional<long long>& moment) {
  if (moment && (!first || *moment < *first)) first = moment;
}

// A renewal sets the time that is left to the ttl again; so the most of it is that.
std::vector<long long> full_of(const SeenLock& lock, const TopLock* before, long long now_ms) {
  std::vector<long long> full;
  for (const SeenHolder& holder : lock.holders) {
    long long most = holder.expires_ms ? std::max(0LL, *holder.expires_ms - now_ms) : 0;
    for (std::size_t i = 0; before && i < before->lock.holders.size(); ++i) {
      if (before->lock.holders[i].id == holder.id) most = std::max(most, before->full_ms[i]);
    }
    full.push_back(most);
  }
  return full;
}

}  // namespace

std::optional<long long> TopLock::waiting_since_ms() const {
  std::optional<long long> first;
  for (const SeenWaiter& each : lock.waiters) keep_earlier(first, each.since_ms);
  return first;
}

std::optional<long long> TopLock::held_since_ms() const {
  std::optional<long long> first;
  for (const SeenHolder& each : lock.holders) keep_earlier(first, each.since_ms);
  return first;
}

Sight::Sight(const std::vector<std::string>& engines) {
  for (const std::string& name : engines) engines_.push_back({.name = name});
}

std::vector<HistoryEvent> Sight::saw(std::size_t index, const std::vector<LockInfo>& locks,
                                     Fairness fairness, Clock::time_point begun, long long now_ms) {
  TopEngine& engine = engines_[index];
  // Before the first look nothing was known, so nothing has happened.
  const bool first = !engine.seen_ms;
  std::vector<HistoryEvent> events;
  const auto compare = [&](const SeenLock* before, const SeenLock* after) {
    if (!first)
      std::ranges::move(happened(engine.name, before, after, now_ms), std::back_inserter(events));
  };
  std::unordered_map<std::string, TopLock> present;
  present.reserve(locks.size());
  engine.waiters = 0;
  for (const LockInfo& info : locks) {
    const auto known = engine.locks.find(info.name.bytes());
    const TopLock* before = known == engine.locks.end() ? nullptr : &known->second;
    TopLock now{seen(info, now_ms, before ? &before->lock : nullptr), {}};
    now.full_ms = full_of(now.lock, before, now_ms);
    engine.waiters += now.lock.waiters.size();
    if (!before || now.lock != before->lock) compare(before ? &before->lock : nullptr, &now.lock);
    present.insert_or_assign(info.name.bytes(), std::move(now));
  }
  for (const auto& [name, gone] : engine.locks) {
    if (!present.contains(name)) compare(&gone.lock, nullptr);
  }
  engine.locks = std::move(present);
  engine.failure.reset();
  engine.asked_ms.reset();
  engine.seen_ms = now_ms;
  for (const HistoryEvent& event : events) happenings_.add(event);
  deadlocks_.saw(engine.name, locks, fairness, begun);
  return events;
}

void Sight::failed(std::size_t index, const Failure& failure) {
  engines_[index].failure = failure;
  engines_[index].asked_ms.reset();
  deadlocks_.lost_sight(engines_[index].name);
}

const TopLock* Sight::find(std::size_t engine, const Name& name) const {
  const auto& locks = engines_[engine].locks;
  const auto at = locks.find(name.bytes());
  return at == locks.end() ? nullptr : &at->second;
}

}  // namespace holdfast::cli::top
