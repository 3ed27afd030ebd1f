#include "seen_lock.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "duration.h"

namespace holdfast::cli {
namespace {

constexpr long long kJitterMs = 250;

std::optional<long long> moment(const std::optional<Duration>& span, long long now_ms, int sign) {
  if (!span) return std::nullopt;
  return now_ms + sign * to_ms(*span);
}

void keep_if_close(std::optional<long long>& now, const std::optional<long long>& before) {
  if (now && before && std::llabs(*now - *before) <= kJitterMs) now = before;
}

template <class Who>
std::unordered_map<ClaimId, const Who*> by_id(const std::vector<Who>& all) {
  std::unordered_map<ClaimId, const Who*> map;
  for (const Who& each : all) map.emplace(each.id, &each);
  return map;
}

SeenHolder seen_holder(const HolderInfo& info, long long now_ms) {
  SeenHolder holder{.id = info.id,
                    .mode = info.mode,
                    .token = info.token,
                    .label = info.label,
                    .owner = info.owner,
                    .since_ms = moment(info.held_for, now_ms, -1),
                    .expires_ms = moment(info.expires_in, now_ms, 1),
                    .details = {}};
  for (const HolderInfo::Detail& each : info.details)
    holder.details.emplace_back(each.name, each.value);
  return holder;
}

HistoryEvent event_of(const std::string& engine, const Name& name, const char* kind,
                      const SeenHolder& holder, long long now_ms) {
  return {.at_ms = now_ms,
          .engine = engine,
          .name = name,
          .kind = kind,
          .token = holder.token,
          .mode = holder.mode,
          .label = holder.label,
          .owner = holder.owner};
}

HistoryEvent event_of(const std::string& engine, const Name& name, const char* kind,
                      const SeenWaiter& waiter, long long now_ms) {
  return {.at_ms = now_ms,
          .engine = engine,
          .name = name,
          .kind = kind,
          .mode = waiter.mode,
          .label = waiter.label,
          .owner = waiter.owner};
}

}  // namespace

SeenLock seen(const LockInfo& info, long long now_ms, const SeenLock* before) {
  SeenLock lock{.name = info.name,
                .last_token = info.last_token,
                .permits = info.permits,
                .holders = {},
                .waiters = {}};
  const auto holders =
      before ? by_id(before->holders) : std::unordered_map<ClaimId, const SeenHolder*>();
  for (const HolderInfo& each : info.holders) {
    SeenHolder holder = seen_holder(each, now_ms);
    if (const auto known = holders.find(each.id); known != holders.end()) {
      keep_if_close(holder.since_ms, known->second->since_ms);
      keep_if_close(holder.expires_ms, known->second->expires_ms);
    }
    lock.holders.push_back(std::move(holder));
  }
  const auto waiters =
      before ? by_id(before->waiters) : std::unordered_map<ClaimId, const SeenWaiter*>();
  for (const WaiterInfo& each : info.waiters) {
    SeenWaiter waiter{each.id, each.mode, each.label, each.owner,
                      moment(each.waited_for, now_ms, -1)};
    // An engine that does not know since when: since we saw it.
    if (!waiter.since_ms) waiter.since_ms = now_ms;
    if (const auto known = waiters.find(each.id); known != waiters.end()) {
      if (each.waited_for) {
        keep_if_close(waiter.since_ms, known->second->since_ms);
      } else {
        waiter.since_ms = known->second->since_ms;
      }
    }
    lock.waiters.push_back(std::move(waiter));
  }
  return lock;
}

std::vector<HistoryEvent> happened(const std::string& engine, const SeenLock* before,
                                   const SeenLock* after, long long now_ms) {
  static const SeenLock& nothing = *new SeenLock;
  const SeenLock& was = before ? *before : nothing;
  const SeenLock& is = after ? *after : nothing;
  const Name& name = (after ? is : was).name;
  const auto held = by_id(was.holders);
  const auto holds = by_id(is.holders);
  const auto waited = by_id(was.waiters);
  const auto waits = by_id(is.waiters);
  std::vector<HistoryEvent> events;
  bool ended = false;
  for (const SeenHolder& each : was.holders) {
    const auto still = holds.find(each.id);
    if (still != holds.end() && still->second->token == each.token) continue;
    ended = true;
    const bool expired = each.expires_ms && *each.expires_ms <= now_ms;
    events.push_back(event_of(engine, name, expired ? "expired" : "released", each, now_ms));
    if (each.since_ms) events.back().held_for_ms = std::max(0LL, now_ms - *each.since_ms);
  }
  for (const SeenHolder& each : is.holders) {
    const auto already = held.find(each.id);
    if (already != held.end() && already->second->token == each.token) continue;
    events.push_back(event_of(engine, name, ended ? "handed_over" : "granted", each, now_ms));
    const auto waiter = waited.find(each.id);
    if (waiter != waited.end() && waiter->second->since_ms) {
      events.back().waited_for_ms = std::max(0LL, now_ms - *waiter->second->since_ms);
    }
  }
  for (const SeenWaiter& each : is.waiters) {
    if (!waited.contains(each.id))
      events.push_back(event_of(engine, name, "waiting", each, now_ms));
  }
  for (const SeenWaiter& each : was.waiters) {
    if (waits.contains(each.id) || holds.contains(each.id)) continue;
    events.push_back(event_of(engine, name, "gave_up", each, now_ms));
    if (each.since_ms) events.back().waited_for_ms = std::max(0LL, now_ms - *each.since_ms);
  }
  return events;
}

}  // namespace holdfast::cli
