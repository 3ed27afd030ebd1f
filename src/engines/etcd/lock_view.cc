#include "engines/etcd/lock_view.h"

#include <algorithm>
#include <map>

#include "base/unreachable_instead_of_unknown.h"

namespace holdfast::internal::etcd {

namespace {

void put_in_order(LockSight& sight) {
  std::sort(sight.entries.begin(), sight.entries.end(),
            [](const Entry& a, const Entry& b) { return a.created < b.created; });
  sight.holders = count_holders(sight.entries);
}

// As etcdctl writes them.
std::vector<HolderInfo::Detail> details_of(const Entry& entry) {
  std::vector<HolderInfo::Detail> details;
  if (entry.lease != 0) details.push_back({"lease", lease_text(entry.lease)});
  details.push_back({"revision", std::to_string(entry.created)});
  return details;
}

// A key that may be anybody's, and need not be a lock's.
bool looks_like_a_lock(const Entry& entry, const KeyValue& pair) {
  return !entry.foreign || (pair.lease != 0 && pair.value.empty());
}

}  // namespace

Task<Result<RangeAnswer>> LockView::range(Range range, Header& header, Deadline deadline) {
  const Result<Answer> answer = co_await cluster_.call(Method::range, encode(range), deadline);
  if (!answer) co_return unreachable_instead_of_unknown(answer.failure());
  std::optional<RangeAnswer> pairs = decode_range(answer->message, &header);
  if (!pairs) co_return cluster_.failed(Code::unreachable, "an answer that makes no sense");
  co_return *std::move(pairs);
}

Task<Result<LockSight>> LockView::look(const Name& name, Deadline deadline) {
  const Keys keys(prefix_, name);
  Header header;
  Range wanted{.key = keys.base, .end = keys.end};
  const Result<RangeAnswer> answer = co_await range(std::move(wanted), header, deadline);
  if (!answer) co_return answer.failure();
  LockSight sight{.name = name, .entries = {}, .seen_at = header.revision};
  for (const KeyValue& pair : answer->pairs) sight.entries.push_back(entry_of(keys, pair));
  put_in_order(sight);
  co_return sight;
}

Task<Result<std::vector<LockSight>>> LockView::look_at_all(const std::string& prefix,
                                                           Deadline deadline) {
  const std::string begin = prefix_ + escaped_name(prefix);
  Header header;
  Range wanted{.key = begin.empty() ? std::string(1, '\0') : begin, .end = end_of_prefix(begin)};
  const Result<RangeAnswer> answer = co_await range(std::move(wanted), header, deadline);
  if (!answer) co_return answer.failure();
  std::map<Name, LockSight> locks;
  for (const KeyValue& pair : answer->pairs) {
    const std::optional<Name> name = name_of(prefix_, pair.key);
    if (!name || !name->bytes().starts_with(prefix)) continue;
    const Entry entry = entry_of(Keys(prefix_, *name), pair);
    if (!looks_like_a_lock(entry, pair)) continue;
    const auto lock = locks.try_emplace(*name, LockSight{*name, {}, 0, header.revision}).first;
    lock->second.entries.push_back(entry);
  }
  std::vector<LockSight> sights;
  for (auto& [name, sight] : locks) {
    put_in_order(sight);
    sights.push_back(std::move(sight));
  }
  co_return sights;
}

Task<std::optional<Duration>> LockView::time_left(LeaseId lease, Deadline deadline) {
  const std::string request = encode_lease(lease);
  const Result<Answer> answer =
      co_await cluster_.call(Method::lease_time_to_live, request, deadline);
  if (!answer) co_return std::nullopt;
  const std::optional<LeaseAnswer> left = decode_lease(answer->message);
  if (!left || left->ttl_s < 0) co_return std::nullopt;
  // Whole seconds, rounded down.
  constexpr std::int64_t kMost = 1'000'000'000;
  co_return std::chrono::seconds(std::min(left->ttl_s, kMost) + 1);
}

Task<Result<LockInfo>> LockView::describe(const LockSight& sight, Deadline deadline) {
  const WallTime now = runtime_.wall();
  const auto since = [&](const Entry& entry) -> std::optional<Duration> {
    if (entry.foreign) return std::nullopt;
    return std::max<Duration>(now - entry.note.since, Duration(0));
  };
  LockInfo info{.name = sight.name, .last_token = {}, .permits = 0, .holders = {}, .waiters = {}};
  for (std::size_t i = 0; i < sight.entries.size(); ++i) {
    const Entry& entry = sight.entries[i];
    if (entry.mode == Mode::permit) info.permits = entry.permits;
    if (i >= sight.holders) {
      info.waiters.push_back(WaiterInfo{
          .id = entry.id, .mode = entry.mode, .label = entry.label(), .waited_for = since(entry)});
      continue;
    }
    const Token token(static_cast<std::uint64_t>(entry.created));
    std::optional<Duration> left;
    if (entry.lease != 0) left = co_await time_left(entry.lease, deadline);
    // Its holder gives it up when its own ttl has passed, which may be less than the lease's.
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
