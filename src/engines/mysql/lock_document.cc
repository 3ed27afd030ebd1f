#include "engines/mysql/lock_document.h"

#include <algorithm>

#include "engines/mysql/table_sql.h"

namespace holdfast::internal::mysql {

using table::HolderRow;
using table::ProcessId;
using table::WaiterRow;

namespace {

constexpr std::size_t kLongestLabel = 4096;

void append_number(std::string& bytes, std::uint64_t number, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
    bytes += static_cast<char>((number >> shift) & 0xff);
  }
}

// Reads what append_number() and its like wrote. Bytes that are not there read as zero: someone else may have
// written the row.
class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}

  bool has(std::size_t size) const { return bytes_.size() - at_ >= size; }
  std::string take(std::size_t size) {
    const std::string part = bytes_.substr(std::min(at_, bytes_.size()), size);
    at_ = std::min(at_ + size, bytes_.size());
    return part;
  }
  std::int64_t number(std::size_t size) {
    std::uint64_t number = 0;
    for (const char c : take(size)) number = number << 8 | static_cast<unsigned char>(c);
    return static_cast<std::int64_t>(number);
  }
  std::string label() { return take(static_cast<std::size_t>(number(2))); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

ProcessId process_of(const ClaimId& claim) { return Reader(claim_bytes(claim)).number(8); }

std::vector<WaiterRow> waiters_from(const std::string& bytes, const std::string& labels) {
  std::vector<WaiterRow> waiters;
  Reader reader(bytes);
  Reader names(labels);
  while (reader.has(LockDocument::kWaiterBytes)) {
    WaiterRow& each = waiters.emplace_back();
    each.seq = static_cast<std::int64_t>(waiters.size());
    each.claim = claim_from_bytes(reader.take(ClaimId::kBytes));
    each.process = process_of(each.claim);
    each.ttl = Duration(reader.number(8));
    each.since = reader.number(8);
    each.permits = static_cast<std::uint32_t>(reader.number(4));
    each.mode = table::mode_from(reader.number(1));
    each.label = names.label();
  }
  return waiters;
}

SqlValue to_column(std::string bytes) {
  return bytes.empty() ? SqlValue(nullptr) : SqlValue(std::move(bytes));
}

}  // namespace

std::string bytes_of(std::int64_t number) {
  std::string bytes;
  append_number(bytes, static_cast<std::uint64_t>(number), 8);
  return bytes;
}

std::string cut_label(const std::string& label) { return label.substr(0, kLongestLabel); }

std::string label_entry(const std::string& label) {
  const std::string cut = cut_label(label);
  std::string bytes;
  append_number(bytes, cut.size(), 2);
  return bytes + cut;
}

std::string entry_end(Mode mode, std::uint32_t permits) {
  std::string bytes;
  append_number(bytes, permits, 4);
  append_number(bytes, static_cast<std::uint64_t>(table::to_row(mode)), 1);
  return bytes;
}

std::vector<HolderRow> holders_from(const std::string& bytes) {
  constexpr std::size_t kFixedBytes = 50;
  std::vector<HolderRow> holders;
  Reader reader(bytes);
  while (reader.has(kFixedBytes)) {
    HolderRow& each = holders.emplace_back();
    each.claim = claim_from_bytes(reader.take(ClaimId::kBytes));
    each.token = reader.number(8);
    each.expires = reader.number(8);
    each.ttl = reader.number(8);
    each.since = reader.number(8);
    each.label = reader.label();
  }
  return holders;
}

LockDocument::LockDocument(const SqlRows& answer, std::size_t index) {
  const auto number = [&](Columns column) { return answer.number(index, column); };
  const auto bytes = [&](Columns column) { return answer.bytes(index, column); };
  now_ = number(Columns::kNow);
  version_ = number(Columns::kVersion);
  row_.token = token_before_ = number(Columns::kToken);
  if (!answer.null(index, Columns::kOwner)) {
    row_.owner = claim_from_bytes(bytes(Columns::kOwner));
    row_.since = number(Columns::kSince);
    row_.expires = number(Columns::kExpires);
    row_.ttl = number(Columns::kTtl);
    row_.label = bytes(Columns::kLabel);
  }
  row_.permits = static_cast<std::uint32_t>(number(Columns::kPermits));
  row_.sharing_mode = table::mode_from(number(Columns::kSharingMode));
  holders_ = holders_from(bytes(Columns::kHolders));
  waiters_ = waiters_from(bytes(Columns::kWaiters), bytes(Columns::kLabels));
  row_.sharing = static_cast<std::uint32_t>(holders_.size());
  row_.waiting = static_cast<std::int64_t>(waiters_.size());
  const std::string alive = bytes(Columns::kAlive);
  for (std::size_t i = 0; i < std::min(alive.size(), waiters_.size()); ++i) {
    if (alive[i] == '0') gone_.insert(waiters_[i].process);
  }
  before_ = values();
}

bool LockDocument::changed() const { return values() != before_; }

bool LockDocument::drop_dead_front() {
  if (waiters_.size() <= kProbed) return false;
  const auto end = waiters_.begin() + static_cast<std::ptrdiff_t>(kProbed);
  const auto dead = [&](const WaiterRow& each) { return gone_.contains(each.process); };
  if (!std::all_of(waiters_.begin(), end, dead)) return false;
  waiters_.erase(waiters_.begin(), end);
  return true;
}

std::vector<SqlValue> LockDocument::values() const {
  std::string holders;
  for (const HolderRow& each : holders_) {
    holders += claim_bytes(each.claim) + bytes_of(each.token) + bytes_of(each.expires) +
               bytes_of(each.ttl) + bytes_of(each.since) + label_entry(each.label.value_or(""));
  }
  std::string waiters;
  std::string labels;
  for (const WaiterRow& each : waiters_) {
    waiters += claim_bytes(each.claim) + bytes_of(each.ttl.count()) + bytes_of(each.since) +
               entry_end(each.mode, each.permits);
    labels += label_entry(each.label.value_or(""));
  }
  return {version_,
          token_before_,
          row_.token,
          row_.owner ? table::to_value(*row_.owner) : SqlValue(nullptr),
          row_.since,
          row_.expires,
          row_.ttl,
          row_.label ? SqlValue(*row_.label) : SqlValue(nullptr),
          to_column(std::move(holders)),
          to_column(std::move(waiters)),
          to_column(std::move(labels)),
          std::int64_t{row_.permits},
          table::to_row(row_.sharing_mode)};
}

// ---- Holders and waiters -------------------------------------------------------------------------

std::optional<std::int64_t> LockDocument::token_of(const ClaimId& holder) {
  for (const HolderRow& each : holders_) {
    if (each.claim == holder) return each.token;
  }
  return std::nullopt;
}

bool LockDocument::remove_holder(const ClaimId& claim) {
  return std::erase_if(holders_, [&](const HolderRow& each) { return each.claim == claim; }) > 0;
}

void LockDocument::set_expiry(const ClaimId& holder, std::int64_t expires, std::int64_t ttl) {
  for (HolderRow& each : holders_) {
    if (each.claim != holder) continue;
    each.expires = expires;
    each.ttl = ttl;
  }
}

std::optional<WaiterRow> LockDocument::head() {
  return waiters_.empty() ? std::nullopt : std::optional(waiters_.front());
}

std::optional<std::int64_t> LockDocument::place_of(const ClaimId& waiter) {
  for (const WaiterRow& each : waiters_) {
    if (each.claim == waiter) return each.seq;
  }
  return std::nullopt;
}

void LockDocument::add_waiter(const WaiterRow& waiter) {
  const std::int64_t last = waiters_.empty() ? 0 : waiters_.back().seq;
  waiters_.push_back(waiter);
  waiters_.back().seq = last + 1;
  waiters_.back().process = process_of(waiter.claim);
}

void LockDocument::remove_waiter(std::int64_t seq) {
  std::erase_if(waiters_, [&](const WaiterRow& each) { return each.seq == seq; });
}

std::int64_t LockDocument::remove_waiters_of(ProcessId process) {
  return static_cast<std::int64_t>(
      std::erase_if(waiters_, [&](const WaiterRow& each) { return each.process == process; }));
}

std::optional<WaiterRow> LockDocument::behind(std::int64_t seq) {
  for (const WaiterRow& each : waiters_) {
    if (each.seq > seq) return each;
  }
  return std::nullopt;
}

bool LockDocument::permit_awaited() {
  return std::ranges::any_of(waiters_,
                             [](const WaiterRow& each) { return each.mode == Mode::permit; });
}

std::uint64_t LockDocument::count_before(std::int64_t seq) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(waiters_, [&](const WaiterRow& each) { return each.seq < seq; }));
}

ProcessId LockDocument::process_before(std::int64_t seq) {
  ProcessId nearest = 0;
  for (const WaiterRow& each : waiters_) {
    if (each.seq < seq) nearest = each.process;
  }
  return nearest;
}

}  // namespace holdfast::internal::mysql
