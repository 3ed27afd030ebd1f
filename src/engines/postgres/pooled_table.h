// PooledTable: a PostgreSQL server behind a proxy that pools transactions, as a lock table needs it. Nothing is kept in a
// session: no LISTEN, no advisory lock, no setting, no prepared statement. Waiters look for themselves, the head of the
// queue often, those behind it rarely, and write into their rows until when they are alive. Inside the loop only.
#pragma once

#include <unordered_map>

#include "engines/postgres/postgres_table.h"

namespace holdfast::internal::postgres {

class PooledTable final : public PostgresTable {
 public:
  using PostgresTable::PostgresTable;

  Task<Result<void>> listen(Deadline, std::stop_token) override { co_return Result<void>(); }
  table::ProcessId process() const override { return -1; }
  void now_waiting(const std::string&) override {}
  void missed_wake() override {}
  std::vector<SqlStatement> with_look(const std::string& key, const ClaimId& claim) override;
  std::optional<Duration> poll_after(std::uint64_t ahead, Duration waited) const override;

 protected:
  Task<Result<std::unique_ptr<SqlConnection>>> open(SessionUse use) override;

 private:
  std::unordered_map<std::string, BootTime> said_alive_;  // when, by key
};

}  // namespace holdfast::internal::postgres
