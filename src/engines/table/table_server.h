// TableServer: what a lock table needs of the server under it: its SQL, its connections, and a way
// to wake those who wait. Inside the loop only.
#pragma once

#include "engines/table/dialect.h"
#include "engines/table/record_sql.h"
#include "engines/table/requests.h"
#include "engines/table/server_rows.h"
#include "engines/table/waking.h"

namespace holdfast::internal::table {

// A wake-up that was missed was sent at least a provisional grant ago: a newer listener is not to blame.
inline constexpr Duration kNewListener = std::chrono::seconds(2);

class TableServer : public Waking, public SqlJudge {
 public:
  virtual const Dialect& dialect() const = 0;
  virtual const RecordSql& record_sql() const = 0;
  virtual ConnectionPool& connections() = 0;
  // Connections for renewals alone: whatever other calls wait for, leases are kept.
  virtual ConnectionPool& renewals() = 0;
  // Sent by a waiter with each look at its lock.
  virtual std::vector<SqlStatement> with_look(const std::string& /*key*/, const ClaimId&) {
    return {};
  }
  // As whom; 0 before the first listen(). Another one when the connection that listened was lost.
  virtual ProcessId process() const = 0;
  // Wakes a waiter of another process, once the transaction is committed that it stands in.
  virtual SqlStatement wake(const Wake& wake) = 0;
};

}  // namespace holdfast::internal::table
