#include "engines/memory/memory_locks.h"

#include <algorithm>

namespace holdfast::internal {

using table::Turn;
using table::Wake;

namespace {

// Names that nobody uses are forgotten when there are so many.
constexpr std::size_t kMaxNames = 65'536;

std::int64_t count(BootTime moment) { return moment.time_since_epoch().count(); }

}  // namespace

MemoryLocks::ProcessId MemoryLocks::enter() {
  clients_.insert(++last_client_);
  return last_client_;
}

MemoryLocks::Lock* MemoryLocks::find(const Name& name) {
  const auto found = locks_.find(name.bytes());
  return found == locks_.end() ? nullptr : &found->second;
}

MemoryLocks::Lock& MemoryLocks::lock_of(const Name& name) {
  if (Lock* const known = find(name)) return *known;
  if (locks_.size() >= kMaxNames) forget_idle_names();
  return locks_.try_emplace(name.bytes(), *this).first->second;
}

void MemoryLocks::forget_idle_names() {
  for (auto each = locks_.begin(); each != locks_.end();) {
    const table::LockRow& row = each->second.row;
    const bool idle = !row.owner && row.sharing == 0 && row.waiting == 0;
    if (idle) token_floor_ = std::max(token_floor_, row.token);
    each = idle ? locks_.erase(each) : std::next(each);
  }
}

Turn MemoryLocks::begin_turn(Lock& lock, BootTime now) const {
  return {lock, lock.row, count(now), token_floor_ + 1};
}

// ---- Changes -----------------------------------------------------------------------------------

Turn::Answer MemoryLocks::acquire(ProcessId client, const Claim& claim, bool queue, BootTime now) {
  Lock& lock = lock_of(claim.name);
  lock.asking = client;
  Turn turn = begin_turn(lock, now);
  Turn::Answer answer = turn.acquire(claim, claim.label, queue);
  wakes_ = turn.take_wakes();
  return answer;
}

bool MemoryLocks::release(const Name& name, const ClaimId& claim, BootTime now) {
  Lock* const lock = find(name);
  if (!lock) return false;
  Turn turn = begin_turn(*lock, now);
  const Turn::Ended ended = turn.release(claim);
  wakes_ = turn.take_wakes();
  return ended == Turn::Ended::hold;
}

bool MemoryLocks::renew(const Hold& hold, BootTime now) {
  Lock* const lock = find(hold.claim.name);
  if (!lock) return false;
  const auto prolong = [&](std::int64_t token, std::int64_t& expires, std::int64_t& ttl) {
    if (token != table::to_row(hold.token) || expires <= count(now)) return false;
    expires = count(now + hold.claim.ttl);
    ttl = hold.claim.ttl.count();
    return true;
  };
  table::LockRow& row = lock->row;
  if (row.owner == hold.claim.id) return prolong(row.token, row.expires, row.ttl);
  table::HolderRow* const holder = lock->find_holder(hold.claim.id);
  return holder && prolong(holder->token, holder->expires, holder->ttl);
}

bool MemoryLocks::detach(const Hold& hold, BootTime now) {
  if (!renew(hold, now)) return false;
  Lock& lock = *find(hold.claim.name);
  table::HolderRow* const holder = lock.find_holder(hold.claim.id);
  (holder ? holder->process : lock.row.process) = 0;
  return true;
}

bool MemoryLocks::evict(const Name& name, Token token, BootTime now) {
  Lock* const lock = find(name);
  if (!lock) return false;
  Turn turn = begin_turn(*lock, now);
  const bool evicted = turn.evict(token);
  wakes_ = turn.take_wakes();
  return evicted;
}

// ---- Showing -----------------------------------------------------------------------------------

LockInfo MemoryLocks::inspect(const Name& name, BootTime now) {
  Lock* const lock = find(name);
  return lock ? begin_turn(*lock, now).describe(name) : LockInfo{.name = name};
}

std::vector<LockInfo> MemoryLocks::list(const std::string& prefix, BootTime now) {
  std::vector<LockInfo> all;
  for (auto each = locks_.lower_bound(prefix);
       each != locks_.end() && each->first.starts_with(prefix); ++each) {
    LockInfo info = begin_turn(each->second, now).describe(each->first);
    if (!info.holders.empty() || !info.waiters.empty()) all.push_back(std::move(info));
  }
  return all;
}

std::optional<MemoryLocks::ProcessId> MemoryLocks::client_of(const Name& name,
                                                             const ClaimId& holder) {
  Lock* const lock = find(name);
  if (!lock) return std::nullopt;
  const table::HolderRow* const row = lock->find_holder(holder);
  const ProcessId client = row ? row->process : lock->row.owner == holder ? lock->row.process : 0;
  return client == 0 ? std::nullopt : std::optional(client);
}

std::vector<Wake> MemoryLocks::waiters() {
  std::vector<Wake> all;
  for (auto& [name, lock] : locks_) {
    for (const table::WaiterRow& waiter : lock.line()) {
      all.push_back({waiter.process, waiter.claim, std::nullopt});
    }
  }
  return all;
}

// ---- Records -----------------------------------------------------------------------------------

std::optional<std::string> MemoryLocks::read_record(const Name& name) const {
  const auto found = records_.find(name.bytes());
  return found == records_.end() ? std::nullopt : std::optional(found->second);
}

bool MemoryLocks::swap_record(const Name& name, const std::optional<std::string>& expected,
                              std::optional<std::string> value) {
  const std::optional<std::string> now = read_record(name);
  if (now == value) return true;
  if (now != expected) return false;
  if (value) {
    records_.insert_or_assign(name.bytes(), std::move(*value));
  } else {
    records_.erase(name.bytes());
  }
  return true;
}

std::vector<Record> MemoryLocks::list_records(const std::string& prefix) const {
  std::vector<Record> all;
  for (auto each = records_.lower_bound(prefix);
       each != records_.end() && each->first.starts_with(prefix); ++each) {
    all.push_back({each->first, each->second});
  }
  return all;
}

}  // namespace holdfast::internal
