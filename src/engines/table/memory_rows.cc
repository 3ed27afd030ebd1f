#include "engines/table/memory_rows.h"

#include <algorithm>

namespace holdfast::internal::table {

HolderRow* MemoryRows::find_holder(const ClaimId& claim) {
  const auto found = std::ranges::find(holders_, claim, &HolderRow::claim);
  return found == holders_.end() ? nullptr : &*found;
}

std::optional<std::int64_t> MemoryRows::token_of(const ClaimId& holder) {
  const HolderRow* const row = find_holder(holder);
  return row ? std::optional(row->token) : std::nullopt;
}

bool MemoryRows::remove_holder(const ClaimId& claim) {
  return std::erase_if(holders_, [&](const HolderRow& row) { return row.claim == claim; }) > 0;
}

void MemoryRows::set_expiry(const ClaimId& holder, std::int64_t expires, std::int64_t ttl) {
  if (HolderRow* const row = find_holder(holder)) {
    row->expires = expires;
    row->ttl = ttl;
  }
}

std::optional<WaiterRow> MemoryRows::head() {
  if (line_.empty()) return std::nullopt;
  return line_.front();
}

std::optional<std::int64_t> MemoryRows::place_of(const ClaimId& waiter) {
  const auto found = std::ranges::find(line_, waiter, &WaiterRow::claim);
  return found == line_.end() ? std::nullopt : std::optional(found->seq);
}

void MemoryRows::add_waiter(const WaiterRow& waiter) {
  line_.push_back(waiter);
  line_.back().seq = ++last_seq_;
}

std::optional<WaiterRow> MemoryRows::behind(std::int64_t seq) {
  const auto found = std::ranges::upper_bound(line_, seq, {}, &WaiterRow::seq);
  return found == line_.end() ? std::nullopt : std::optional(*found);
}

bool MemoryRows::permit_awaited() {
  return std::ranges::find(line_, Mode::permit, &WaiterRow::mode) != line_.end();
}

std::uint64_t MemoryRows::count_before(std::int64_t seq) {
  const auto end = std::ranges::lower_bound(line_, seq, {}, &WaiterRow::seq);
  return static_cast<std::uint64_t>(end - line_.begin());
}

ProcessId MemoryRows::process_before(std::int64_t seq) {
  auto row = std::ranges::lower_bound(line_, seq, {}, &WaiterRow::seq);
  while (row != line_.begin()) {
    --row;
    if (row->process != asking) return row->process;
  }
  return 0;
}

}  // namespace holdfast::internal::table
