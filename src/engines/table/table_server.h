// TableServer: what a lock table needs of the server under it: its SQL, its connections, and a way
// to wake those who wait. Inside the loop only.
#pragma once

#include <functional>
#include <unordered_set>

#include "engines/table/connection_pool.h"
#include "engines/table/dialect.h"
#include "engines/table/server_rows.h"
#include "engines/table/turn.h"

namespace holdfast::internal::table {

// A wake-up that was missed was sent at least a provisional grant ago: a newer listener is not to blame.
inline constexpr Duration kNewListener = std::chrono::seconds(2);

// Renewals that wait for rows which somebody keeps locked hold up no others, unless there are so many.
inline constexpr std::size_t kRenewalConnections = 4;

enum class Trouble {
  again,  // a deadlock or the like: nothing has happened, and it may well go next time
  no_table,
  other,
};

class TableServer {
 public:
  virtual ~TableServer() = default;

  virtual const Dialect& dialect() const = 0;
  virtual ConnectionPool& connections() = 0;
  // Connections for renewals alone: whatever other calls wait for, leases are kept.
  virtual ConnectionPool& renewals() = 0;
  virtual Trouble trouble_with(const SqlError& error) const = 0;
  // How it reads to a user of the lock; unknown if it may have been executed.
  virtual Failure failure_of(const SqlError& error) const = 0;
  // Makes the tables, or says who has to.
  virtual Task<Result<void>> make_tables(Deadline deadline) = 0;

  // Returns when who is woken is heard. REQUIRED before anybody of this client waits.
  virtual Task<Result<void>> listen(Deadline deadline, std::stop_token stop) = 0;
  // As whom; 0 before the first listen(). Another one when the connection that listened was lost.
  virtual ProcessId process() const = 0;
  // What has to be sent to wake somebody in another process: `inside` the transaction, or right
  // `after` it, in the same request. What is sent after it may fail.
  virtual void wake(const Wake& wake, const ServerRows& rows, std::vector<SqlStatement>& inside,
                    std::vector<SqlStatement>& after) = 0;
  // A claim of this client stands in the queue, and is about to wait, for the first time or again.
  virtual void now_waiting() {}
  // A claim of this client was granted something, and not told before that had ended: the connection that
  // listens may be dead without a word. It is replaced, unless it is new.
  virtual void missed_wake() = 0;
  virtual void close() = 0;

  // Somebody was woken. Given nothing: it is not in the queue any more.
  std::function<void(const ClaimId&, std::optional<Given>)> on_wake;
  // Wake-ups may have been lost: all should look.
  std::function<void()> on_deaf;
  // Who of this client waits, and has not been told yet.
  struct Awaited {
    std::string key;
    ClaimId claim;
    bool alone = true;  // it wants the lock for itself
  };
  std::function<std::vector<Awaited>()> awaited;
};

}  // namespace holdfast::internal::table
