// The rows of the lock table as values, and the statements that read and write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engines/sqlite/lock_table.h"

namespace holdfast::internal {

// A row of `lock`, with the holders in it.
struct LockTable::Row {
  std::int64_t id = 0;
  Name name;
  std::int64_t token = 0;
  std::optional<ClaimId> owner;  // the exclusive holder
  ProcessId process = 0;
  std::int64_t since = 0;
  std::int64_t expires = 0;
  std::optional<std::string> label;
  std::int64_t waiting = 0;
  std::uint32_t sharing = 0;
  Mode sharing_mode = Mode::exclusive;
  std::uint32_t permits = 0;

  Holders holders() const { return {owner.has_value(), sharing, sharing_mode}; }
  bool operator==(const Row&) const = default;
};

// A row of `waiter`.
struct LockTable::Queued {
  std::int64_t seq = 0;
  ClaimId claim;
  Mode mode = Mode::exclusive;
  std::uint32_t permits = 1;
  Duration ttl{};
  ProcessId process = 0;
  bool outlives = false;
  std::optional<std::string> label;
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

// The bytes in a column, if there are any.
std::optional<std::string> text_at(const sqlite::Statement::Cursor& row, int column);

// Claim ids travel as 16-byte blobs, modes as their number.
ClaimId claim_from(std::string_view bytes);
inline std::int64_t to_row(Mode mode) { return static_cast<std::int64_t>(mode); }
inline Mode mode_from(std::int64_t number) { return static_cast<Mode>(number); }
inline std::int64_t to_row(Token token) { return static_cast<std::int64_t>(token.value()); }
inline std::int64_t to_row(BootTime moment) { return moment.time_since_epoch().count(); }
inline BootTime moment_from(std::int64_t nanoseconds) { return BootTime(Duration(nanoseconds)); }

}  // namespace holdfast::internal
