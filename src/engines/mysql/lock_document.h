// LockDocument: one lock as one row: holder, sharing holders, and the queue. The queue and the sharing holders
// are bytes in columns of that row, so that every change to a lock is one statement on one row.
//
// Layout, numbers big-endian:
//   waiters  entries of kWaiterBytes, first come first:
//              claim 16 | ttl 8 | since 8 | permits 4 | mode 1
//   labels   one per waiter, in the same order: length 2 | bytes
//   holders  who shares the lock, or has one of its permits, by token:
//              claim 16 | token 8 | expires 8 | ttl 8 | since 8 | label length 2 | label
// Statements in table_sql.cc read and write parts of it by position.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "engines/table/key.h"
#include "engines/table/rows.h"

namespace holdfast::internal::mysql {

class LockDocument final : public table::Rows {
 public:
  static constexpr std::size_t kWaiterBytes = 37;
  // Of how many waiters the row tells whether they are alive.
  static constexpr std::size_t kProbed = 8;

  // A row as `Columns` says.
  LockDocument(const SqlRows& answer, std::size_t index);

  table::LockRow& row() { return row_; }
  std::int64_t now() const { return now_; }
  bool changed() const;
  // The row tells of the first waiters alone whether they are alive. If all of those are dead, and others stand behind
  // them: removes them, and returns true. The row shall be written, and read again.
  bool drop_dead_front();
  // The values of `write` behind the key.
  std::vector<SqlValue> values() const;

  std::vector<table::HolderRow> holders() override { return holders_; }
  std::optional<std::int64_t> token_of(const ClaimId& holder) override;
  void add_holder(const table::HolderRow& holder) override { holders_.push_back(holder); }
  bool remove_holder(const ClaimId& claim) override;
  void set_expiry(const ClaimId& holder, std::int64_t expires, std::int64_t ttl) override;
  std::optional<table::WaiterRow> head() override;
  std::vector<table::WaiterRow> line() override { return waiters_; }
  std::optional<std::int64_t> place_of(const ClaimId& waiter) override;
  void add_waiter(const table::WaiterRow& waiter) override;
  void remove_waiter(std::int64_t seq) override;
  std::int64_t remove_waiters_of(table::ProcessId process) override;
  std::optional<table::WaiterRow> behind(std::int64_t seq) override;
  bool permit_awaited() override;
  std::uint64_t count_before(std::int64_t seq) override;
  table::ProcessId process_before(std::int64_t seq) override;
  // Each waiter lives and dies by itself: what stands for its process is its claim.
  table::ProcessId me() override { return 0; }
  bool gone(table::ProcessId process) override { return gone_.contains(process); }
  std::string label_of(table::ProcessId) override { return {}; }

 private:
  table::LockRow row_;
  std::int64_t now_ = 0;
  std::int64_t version_ = 0;
  std::int64_t token_before_ = 0;
  std::vector<table::HolderRow> holders_;
  std::vector<table::WaiterRow> waiters_;
  std::unordered_set<table::ProcessId> gone_;
  std::vector<SqlValue> before_;
};

// Parts of the row that statements are given.
std::string bytes_of(std::int64_t number);
std::string label_entry(const std::string& label);
// A label is for people; one that is too long is cut.
std::string cut_label(const std::string& label);
// The end of a waiter's entry, behind `since`.
std::string entry_end(Mode mode, std::uint32_t permits);
// The sharing holders in a row's column.
std::vector<table::HolderRow> holders_from(const std::string& bytes);

}  // namespace holdfast::internal::mysql
