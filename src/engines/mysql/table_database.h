// TableDatabase: the connections to one MySQL or MariaDB server that a lock table uses, and what the server's
// errors mean. Inside the loop only.
#pragma once

#include <memory>

#include "engines/table/requests.h"
#include "sql/mysql/settings.h"

namespace holdfast::internal::mysql {

class TableDatabase final : public table::SqlJudge {
 public:
  TableDatabase(Runtime& runtime, Settings settings);

  // The purpose of a connection decides how long the server waits for a row, and for our next word.
  enum class Use { calls, renewals, names, sleeping };
  Task<Result<std::unique_ptr<MariadbConnection>>> connect(Use use);

  table::ConnectionPool& calls() { return calls_; }
  // For renewals alone: whatever other calls wait for, leases are kept.
  table::ConnectionPool& renewals() { return renewals_; }
  table::Requests& requests() { return requests_; }
  const Settings& settings() const { return settings_; }
  void close();

  SqlTrouble trouble_with(const SqlError& error) const override;
  Failure failure_of(const SqlError& error) const override;
  Task<Result<void>> make_tables(Deadline deadline) override;

 private:
  Task<Result<std::unique_ptr<SqlConnection>>> open(Use use);

  Runtime& runtime_;
  Settings settings_;
  table::ConnectionPool calls_;
  table::ConnectionPool renewals_;
  table::Requests requests_;
};

}  // namespace holdfast::internal::mysql
