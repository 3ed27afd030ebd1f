#include <algorithm>
#include <compare>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "holdfast/deadlock.h"

namespace holdfast {

namespace {

// The claims on one lock in one look.
class Claims {
 public:
  explicit Claims(const LockInfo& lock) {
    for (const HolderInfo& holder : lock.holders) holds_.emplace(holder.id, holder.token);
    for (const WaiterInfo& waiter : lock.waiters) waits_.insert(waiter.id);
  }

  bool has(const HolderInfo& holder) const {
    const auto [begin, end] = holds_.equal_range(holder.id);
    return std::any_of(begin, end, [&](const auto& each) { return each.second == holder.token; });
  }
  bool has(const WaiterInfo& waiter) const { return waits_.contains(waiter.id); }

 private:
  std::unordered_multimap<ClaimId, Token> holds_;
  std::unordered_set<ClaimId> waits_;
};

LockInfo common(const LockInfo& before, const LockInfo& after) {
  const Claims claims(before);
  LockInfo same{.name = after.name, .last_token = after.last_token, .permits = after.permits};
  // Where the engine does not tell, those of all holders: also of the ones that are about to be left out.
  if (same.permits == 0) {
    same.permits = static_cast<std::uint32_t>(
        std::ranges::count(after.holders, Mode::permit, &HolderInfo::mode));
  }
  const auto was_there = [&](const auto& claim) { return claims.has(claim); };
  std::ranges::copy_if(after.holders, std::back_inserter(same.holders), was_there);
  std::ranges::copy_if(after.waiters, std::back_inserter(same.waiters), was_there);
  return same;
}

EngineLocks common(const EngineLocks& before, const EngineLocks& after) {
  std::unordered_map<std::string_view, const LockInfo*> by_name;
  for (const LockInfo& lock : before.locks) by_name.emplace(lock.name.bytes(), &lock);
  EngineLocks same{.engine = after.engine, .locks = {}, .fairness = after.fairness};
  for (const LockInfo& lock : after.locks) {
    // Nobody waits: nothing to find there.
    if (lock.waiters.empty()) continue;
    const auto earlier = by_name.find(lock.name.bytes());
    if (earlier != by_name.end()) same.locks.push_back(common(*earlier->second, lock));
  }
  return same;
}

}  // namespace

std::vector<EngineLocks> in_both(std::span<const EngineLocks> before,
                                 std::span<const EngineLocks> after) {
  std::vector<EngineLocks> same;
  for (const EngineLocks& engine : after) {
    const auto earlier = std::ranges::find(before, engine.engine, &EngineLocks::engine);
    if (earlier != before.end()) same.push_back(common(*earlier, engine));
  }
  return same;
}

std::vector<Deadlock> confirmed(std::span<const EngineLocks> before,
                                std::span<const EngineLocks> after) {
  const std::vector<EngineLocks> same = in_both(before, after);
  return find_deadlocks(same);
}

}  // namespace holdfast
