// The rows of the lock table as values, and the statements that read and write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engines/sqlite/lock_table.h"

namespace holdfast::internal {

// A row of `lock`.
struct LockTable::Row : table::LockRow {
  std::int64_t id = 0;
};

struct LockTable::Statements {
  explicit Statements(sqlite::Database& db);

  sqlite::Statement take_free;
  sqlite::Statement free_held;
  sqlite::Statement find;
  sqlite::Statement insert;
  sqlite::Statement save;
  sqlite::Statement renew_owner;
  sqlite::Statement renew_holder;
  sqlite::Statement set_expiry;
  sqlite::Statement detach_owner;
  sqlite::Statement detach_holder;
  sqlite::Statement holders;
  sqlite::Statement holder_of_claim;
  sqlite::Statement add_holder;
  sqlite::Statement remove_holder;
  sqlite::Statement head;
  sqlite::Statement line;
  sqlite::Statement waiter_at;
  sqlite::Statement add_waiter;
  sqlite::Statement remove_waiters_of;
  sqlite::Statement remove_waiter;
  sqlite::Statement next_waiter;
  sqlite::Statement permit_waiter;
  sqlite::Statement waiters_before;
  sqlite::Statement process_before;
  sqlite::Statement process;
  sqlite::Statement processes;
  sqlite::Statement add_process;
  sqlite::Statement remove_process;
  sqlite::Statement names;
  sqlite::Statement raise_floor;
  sqlite::Statement remove_idle;
};

// The holders and waiters of one lock.
class LockTable::RowsOf final : public table::Rows {
 public:
  RowsOf(LockTable& table, std::int64_t id) : table_(table), sql_(*table.sql_), id_(id) {}

  std::vector<table::HolderRow> holders() override;
  std::optional<std::int64_t> token_of(const ClaimId& holder) override;
  void add_holder(const table::HolderRow& holder) override;
  bool remove_holder(const ClaimId& claim) override;
  void set_expiry(const ClaimId& holder, std::int64_t expires, std::int64_t ttl) override;
  std::optional<table::WaiterRow> head() override;
  std::vector<table::WaiterRow> line() override;
  std::optional<std::int64_t> place_of(const ClaimId& waiter) override;
  void add_waiter(const table::WaiterRow& waiter) override;
  void remove_waiter(std::int64_t seq) override;
  std::int64_t remove_waiters_of(ProcessId process) override;
  std::optional<table::WaiterRow> behind(std::int64_t seq) override;
  bool permit_awaited() override;
  std::uint64_t count_before(std::int64_t seq) override;
  ProcessId process_before(std::int64_t seq) override;
  ProcessId me() override;
  bool gone(ProcessId process) override;
  std::string label_of(ProcessId process) override { return table_.process_label(process); }

 private:
  LockTable& table_;
  Statements& sql_;
  std::int64_t id_;
};

// The bytes in a column, if there are any.
std::optional<std::string> text_at(const sqlite::Statement::Cursor& row, int column);

// Claim ids travel as 16-byte blobs, modes as their number.
ClaimId claim_from(std::string_view bytes);
using table::mode_from;
using table::to_row;
inline std::int64_t to_row(BootTime moment) { return moment.time_since_epoch().count(); }
inline BootTime moment_from(std::int64_t nanoseconds) { return BootTime(Duration(nanoseconds)); }

}  // namespace holdfast::internal
