#include "c/handles.h"

namespace c = holdfast::c;

namespace {

const holdfast::LockInfo* at(const hf_locks* locks, std::size_t index) {
  return locks && index < locks->all.size() ? &locks->all[index] : nullptr;
}

}  // namespace

void hf_locks_free(hf_locks* locks) { delete locks; }

size_t hf_locks_count(const hf_locks* locks) { return locks ? locks->all.size() : 0; }

int hf_locks_get(const hf_locks* locks, size_t lock, hf_lock_info* info) {
  const holdfast::LockInfo* found = at(locks, lock);
  if (!found || !info) return 0;
  c::fill(*info, {.size = 0,
                  .name = found->name.bytes().c_str(),
                  .name_length = found->name.bytes().size(),
                  .last_token = found->last_token.value(),
                  .permits = found->permits,
                  .holders = found->holders.size(),
                  .waiters = found->waiters.size()});
  return 1;
}

int hf_locks_holder(const hf_locks* locks, size_t lock, size_t holder, hf_party* party) {
  const holdfast::LockInfo* found = at(locks, lock);
  if (!found || holder >= found->holders.size() || !party) return 0;
  const holdfast::HolderInfo& one = found->holders[holder];
  c::fill(*party, {.size = 0,
                   .label = one.label.c_str(),
                   .label_length = one.label.size(),
                   .mode = c::from_mode(one.mode),
                   .token = one.token.value(),
                   .since_ms = c::to_ms(one.held_for),
                   .expires_in_ms = c::to_ms(one.expires_in)});
  return 1;
}

int hf_locks_waiter(const hf_locks* locks, size_t lock, size_t waiter, hf_party* party) {
  const holdfast::LockInfo* found = at(locks, lock);
  if (!found || waiter >= found->waiters.size() || !party) return 0;
  const holdfast::WaiterInfo& one = found->waiters[waiter];
  c::fill(*party, {.size = 0,
                   .label = one.label.c_str(),
                   .label_length = one.label.size(),
                   .mode = c::from_mode(one.mode),
                   .token = 0,
                   .since_ms = c::to_ms(one.waited_for),
                   .expires_in_ms = -1});
  return 1;
}
