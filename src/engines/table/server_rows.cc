#include "engines/table/server_rows.h"

#include <algorithm>

namespace holdfast::internal::table {

namespace {

// Behind all that have a place.
constexpr std::int64_t kNewest = INT64_MAX - 1;

SqlValue to_value(const std::optional<std::string>& bytes) {
  return bytes ? SqlValue(*bytes) : SqlValue(nullptr);
}

}  // namespace

// ---- Reading -----------------------------------------------------------------------------------

std::vector<SqlStatement> ServerRows::questions(bool to_lock, std::int64_t longest_line) const {
  longest_line_ = longest_line;
  return {{to_lock ? dialect_.lock : dialect_.find, {key_}},
          {dialect_.holders, {key_}},
          {dialect_.line, {key_, table::to_value(claim_), longest_line}}};
}

bool ServerRows::read(const std::vector<SqlRows>& answers, std::size_t first) {
  read_line(answers.at(first + 2));
  if (answers.at(first).empty()) return false;
  read_row(answers.at(first));
  const SqlRows& holders = answers.at(first + 1);
  for (std::size_t i = 0; i < holders.rows.size(); ++i) {
    holders_.push_back({.claim = claim_from_bytes(holders.bytes(i, 0)),
                        .token = holders.number(i, 1),
                        .since = holders.number(i, 2),
                        .expires = holders.number(i, 3),
                        .ttl = holders.number(i, 4),
                        .label = holders.bytes(i, 5)});
  }
  before_ = row_;
  // The rows decide; a cleaner, or people, may have removed some.
  row_.sharing = static_cast<std::uint32_t>(holders_.size());
  if (whole_line_) row_.waiting = static_cast<std::int64_t>(line_.size());
  return true;
}

void ServerRows::read_row(const SqlRows& answer) {
  row_.token = answer.number(0, 0);
  if (!answer.null(0, 1)) {
    row_.owner = claim_from_bytes(answer.bytes(0, 1));
    row_.since = answer.number(0, 2);
    row_.expires = answer.number(0, 3);
    row_.ttl = answer.number(0, 4);
    row_.label = answer.bytes(0, 5);
  }
  row_.waiting = answer.number(0, 6);
  row_.sharing = static_cast<std::uint32_t>(answer.number(0, 7));
  row_.sharing_mode = mode_from(answer.number(0, 8));
  row_.permits = static_cast<std::uint32_t>(answer.number(0, 9));
}

void ServerRows::read_line(const SqlRows& answer) {
  now_ = answer.number(0, 0);
  if (!answer.null(0, 1)) {
    place_ = answer.number(0, 1);
    before_place_ = static_cast<std::uint64_t>(answer.number(0, 2));
  }
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    if (answer.null(i, 3)) continue;
    line_.push_back({.seq = answer.number(i, 3),
                     .claim = claim_from_bytes(answer.bytes(i, 4)),
                     .mode = mode_from(answer.number(i, 5)),
                     .permits = static_cast<std::uint32_t>(answer.number(i, 6)),
                     .ttl = Duration(answer.number(i, 7)),
                     .process = answer.number(i, 8),
                     .outlives = answer.number(i, 9) != 0,
                     .since = answer.number(i, 10),
                     .label = answer.bytes(i, 11)});
    if (answer.number(i, 12) == 0) gone_.insert(line_.back().process);
  }
  whole_line_ = static_cast<std::int64_t>(line_.size()) < longest_line_;
}

// ---- Changing ----------------------------------------------------------------------------------

void ServerRows::change(const std::string& text, std::vector<SqlValue> values) {
  values.insert(values.begin(), key_);
  changes_.push_back({text, std::move(values)});
}

std::vector<SqlStatement> ServerRows::changes() const {
  std::vector<SqlStatement> all = changes_;
  // With the queue or the holders the row is written, even if all its figures are the same again: it
  // keeps the queue's head, and who waited for it shall see that it is another one now.
  if (row_ == before_ && all.empty()) return all;
  SqlStatement save{dialect_.save, {key_, row_.token}};
  if (row_.owner) {
    save.values.insert(save.values.end(), {table::to_value(*row_.owner), row_.since, row_.expires,
                                           row_.ttl, to_value(row_.label)});
  } else {
    save.values.insert(save.values.end(), {nullptr, nullptr, nullptr, nullptr, nullptr});
  }
  save.values.insert(save.values.end(), {row_.waiting, std::int64_t{row_.sharing},
                                         to_row(row_.sharing_mode), std::int64_t{row_.permits}});
  all.push_back(std::move(save));
  return all;
}

std::optional<std::int64_t> ServerRows::token_of(const ClaimId& holder) {
  for (const HolderRow& each : holders_) {
    if (each.claim == holder) return each.token;
  }
  return std::nullopt;
}

void ServerRows::add_holder(const HolderRow& holder) {
  holders_.push_back(holder);
  change(dialect_.add_holder, {table::to_value(holder.claim), holder.token, holder.since,
                               holder.expires, holder.ttl, to_value(holder.label)});
}

bool ServerRows::remove_holder(const ClaimId& claim) {
  if (std::erase_if(holders_, [&](const HolderRow& each) { return each.claim == claim; }) == 0) {
    return false;
  }
  change(dialect_.remove_holder, {table::to_value(claim)});
  return true;
}

void ServerRows::set_expiry(const ClaimId& holder, std::int64_t expires, std::int64_t ttl) {
  change(dialect_.set_expiry, {table::to_value(holder), expires, ttl});
}

std::optional<WaiterRow> ServerRows::head() {
  if (!line_.empty()) return line_.front();
  ran_short_ = ran_short_ || !whole_line_;
  return std::nullopt;
}

std::optional<std::int64_t> ServerRows::place_of(const ClaimId& waiter) {
  if (waiter == claim_) return place_;
  for (const WaiterRow& each : line_) {
    if (each.claim == waiter) return each.seq;
  }
  return std::nullopt;
}

void ServerRows::add_waiter(const WaiterRow& waiter) {
  before_place_ = static_cast<std::uint64_t>(row_.waiting);
  place_ = kNewest;
  line_.push_back(waiter);
  line_.back().seq = kNewest;
  change(dialect_.add_waiter,
         {table::to_value(waiter.claim), to_row(waiter.mode), std::int64_t{waiter.permits},
          std::int64_t{waiter.ttl.count()}, waiter.process, std::int64_t{waiter.outlives},
          waiter.since, to_value(waiter.label)});
}

void ServerRows::remove_waiter(std::int64_t seq) {
  std::erase_if(line_, [&](const WaiterRow& each) { return each.seq == seq; });
  if (place_ == seq) place_.reset();
  if (place_ && seq < *place_ && before_place_ > 0) --before_place_;
  change(dialect_.remove_waiter, {seq});
}

std::int64_t ServerRows::remove_waiters_of(ProcessId process) {
  std::vector<std::int64_t> theirs;
  for (const WaiterRow& each : line_) {
    if (each.process == process) theirs.push_back(each.seq);
  }
  for (const std::int64_t seq : theirs) remove_waiter(seq);
  return static_cast<std::int64_t>(theirs.size());
}

std::optional<WaiterRow> ServerRows::behind(std::int64_t) {
  // Waiters at a server watch nobody: they are told, or look in their time.
  return std::nullopt;
}

bool ServerRows::permit_awaited() {
  const auto is_permit = [](const WaiterRow& each) { return each.mode == Mode::permit; };
  if (std::any_of(line_.begin(), line_.end(), is_permit)) return true;
  ran_short_ = ran_short_ || !whole_line_;
  return false;
}

std::uint64_t ServerRows::count_before(std::int64_t seq) {
  if (place_ == seq) return before_place_;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(row_.waiting, 0));
}

ProcessId ServerRows::process_before(std::int64_t) { return 0; }

bool ServerRows::gone(ProcessId process) {
  return process != 0 && process != me_ && gone_.contains(process);
}

}  // namespace holdfast::internal::table
