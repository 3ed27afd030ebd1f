// Requests: single requests to a database server, each without a transaction of its own. Made anew after a
// deadlock, when the tables were missing, and when the connection broke before the answer came: REQUIRES that all
// of them can be repeated. Inside the loop only.
#pragma once

#include "engines/table/connection_pool.h"
#include "sql/errors.h"

namespace holdfast::internal::table {

// Renewals that wait for rows which somebody keeps locked hold up no others, unless there are so many.
inline constexpr std::size_t kRenewalConnections = 4;

// Judges a server's errors.
class SqlJudge {
 public:
  virtual SqlTrouble trouble_with(const SqlError& error) const = 0;
  // How it reads to a user of the lock; unknown if it may have been executed.
  virtual Failure failure_of(const SqlError& error) const = 0;
  // Makes the tables, or says who has to.
  virtual Task<Result<void>> make_tables(Deadline deadline) = 0;

 protected:
  ~SqlJudge() = default;
};

class Requests {
 public:
  // No request is waited for longer than `timeout`; a connection for it, until the caller's deadline.
  Requests(Runtime& runtime, SqlJudge& judge, Duration timeout)
      : runtime_(runtime), judge_(judge), timeout_(timeout) {}

  struct Asked {
    SqlOutcome outcome;
    bool repeated = false;  // it may have been executed once before
  };
  Task<Result<Asked>> ask(ConnectionPool& connections, std::vector<SqlStatement> statements,
                          Deadline deadline, std::stop_token stop = {},
                          ConnectionPool::Urgency urgency = ConnectionPool::Urgency::usual);
  // After an error of a request that was not committed: nothing if it should be tried again.
  // It had until `limit` for its answer.
  Task<std::optional<Failure>> recover(SqlError error, Deadline limit, Deadline deadline);

  Deadline limit_of(Deadline deadline) const { return deadline.sooner(runtime_.now() + timeout_); }

 private:
  Runtime& runtime_;
  SqlJudge& judge_;
  Duration timeout_;
};

// A request that was repeated, and failed then, may still have been executed the first time.
inline Failure unknown(const Failure& failure) { return Failure(Code::unknown, failure.message()); }

}  // namespace holdfast::internal::table
