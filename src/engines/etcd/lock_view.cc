#include "engines/etcd/lock_view.h"

#include <algorithm>
#include <map>

namespace holdfast::internal::etcd {

namespace {

void put_in_order(LockSnapshot& lock) {
  std::sort(lock.entries.begin(), lock.entries.end(),
            [](const Entry& a, const Entry& b) { return a.created < b.created; });
  lock.holders = count_holders(lock.entries);
}

// As etcdctl prints them.
std::vector<HolderInfo::Detail> details_of(const Entry& entry) {
  std::vector<HolderInfo::Detail> details;
  if (entry.lease != 0) details.push_back({"lease", lease_text(entry.lease)});
  details.push_back({"revision", std::to_string(entry.created)});
  return details;
}

// Any program may have made the key, and not as a lock.
bool looks_like_a_lock(const Entry& entry, const KeyValue& pair) {
  return !entry.foreign || (pair.lease != 0 && pair.value.empty());
}

}  // namespace

Task<Result<LockSnapshot>> LockView::read(const Name& name, Deadline deadline) {
  const Keys keys = cluster_.keys_of(name);
  Range wanted{.key = keys.base, .end = keys.end};
  const Result<Answer<RangeAnswer>> answer = co_await cluster_.range(std::move(wanted), deadline);
  if (!answer) co_return answer.failure();
  LockSnapshot lock{.name = name, .entries = {}, .seen_at = answer->message.header.revision};
  for (const KeyValue& pair : answer->message.pairs) lock.entries.push_back(entry_of(keys, pair));
  put_in_order(lock);
  co_return lock;
}

Task<Result<std::vector<LockSnapshot>>> LockView::read_all(const std::string& prefix,
                                                           Deadline deadline) {
  const std::string& keys_prefix = cluster_.settings().prefix;
  const std::string begin = keys_prefix + escaped_name(prefix);
  Range wanted{.key = begin.empty() ? std::string(1, '\0') : begin, .end = end_of_prefix(begin)};
  const Result<Answer<RangeAnswer>> answer = co_await cluster_.range(std::move(wanted), deadline);
  if (!answer) co_return answer.failure();
  std::map<Name, LockSnapshot> by_name;
  for (const KeyValue& pair : answer->message.pairs) {
    const std::optional<Name> name = name_of(keys_prefix, pair.key);
    if (!name || !name->bytes().starts_with(prefix)) continue;
    const Entry entry = entry_of(cluster_.keys_of(*name), pair);
    if (!looks_like_a_lock(entry, pair)) continue;
    const Revision seen_at = answer->message.header.revision;
    LockSnapshot& lock =
        by_name.try_emplace(*name, LockSnapshot{*name, {}, 0, seen_at}).first->second;
    lock.entries.push_back(entry);
  }
  std::vector<LockSnapshot> locks;
  for (auto& [name, lock] : by_name) {
    put_in_order(lock);
    locks.push_back(std::move(lock));
  }
  co_return locks;
}

Task<std::optional<Duration>> LockView::time_left(LeaseId lease, Deadline deadline) {
  const std::string request = encode_lease(lease);
  const Result<Answer<LeaseAnswer>> answer =
      co_await cluster_.lease(Method::lease_time_to_live, request, deadline);
  if (!answer || answer->message.ttl_s < 0) co_return std::nullopt;
  // Whole seconds, rounded down.
  constexpr std::int64_t kMax = 1'000'000'000;
  co_return std::chrono::seconds(std::min(answer->message.ttl_s, kMax) + 1);
}

Task<Result<LockInfo>> LockView::describe(const LockSnapshot& lock, Deadline deadline) {
  const WallTime now = runtime_.wall();
  const auto since = [&](const Entry& entry) -> std::optional<Duration> {
    if (entry.foreign) return std::nullopt;
    return std::max<Duration>(now - entry.note.since, Duration(0));
  };
  LockInfo info{.name = lock.name, .last_token = {}, .permits = 0, .holders = {}, .waiters = {}};
  for (std::size_t i = 0; i < lock.entries.size(); ++i) {
    const Entry& entry = lock.entries[i];
    if (entry.mode == Mode::permit) info.permits = entry.permits;
    if (i >= lock.holders) {
      info.waiters.push_back(WaiterInfo{
          .id = entry.id, .mode = entry.mode, .label = entry.label(), .waited_for = since(entry)});
      continue;
    }
    const Token token(static_cast<std::uint64_t>(entry.created));
    std::optional<Duration> left;
    if (entry.lease != 0) left = co_await time_left(entry.lease, deadline);
    // Its holder removes it when its own ttl has passed, which may be less than the lease's.
    if (left && !entry.foreign) left = std::min(*left, entry.note.ttl);
    info.last_token = std::max(info.last_token, token);
    info.holders.push_back(HolderInfo{.id = entry.id,
                                      .mode = entry.mode,
                                      .token = token,
                                      .label = entry.label(),
                                      .held_for = since(entry),
                                      .expires_in = left,
                                      .details = details_of(entry)});
  }
  co_return info;
}

}  // namespace holdfast::internal::etcd
