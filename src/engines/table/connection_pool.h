// ConnectionPool: a few connections to one database server, shared by all calls of a client. A call
// has one to itself while it runs; others wait in the order in which they came. Opened on demand,
// one at a time, and again after they broke; those that nobody needs any more are closed. Inside
// the loop only.
//
// One connection more than the limit is for releases alone: calls that block in the server, behind a
// row that somebody has locked, can use up all others.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "wire/reopening.h"
#include "wire/sql_connection.h"

namespace holdfast::internal::table {

class ConnectionPool {
 public:
  using Open = std::function<Task<Result<std::unique_ptr<SqlConnection>>>()>;

  // `whom` they lead to, for messages: "PostgreSQL at db.example:5432".
  ConnectionPool(Runtime& runtime, Open open, std::size_t most, std::string whom);
  ~ConnectionPool();

  class Loan {
   public:
    Loan(ConnectionPool& pool, std::unique_ptr<SqlConnection> connection, bool releases)
        : pool_(&pool), connection_(std::move(connection)), releases_(releases) {}
    Loan(Loan&& other) noexcept = default;
    Loan& operator=(Loan&& other) noexcept = delete;
    ~Loan();

    SqlConnection* operator->() { return connection_.get(); }
    // While it is so, giving it back closes it: nobody else may go on with our transaction.
    void set_in_transaction(bool value) { in_transaction_ = value; }

   private:
    ConnectionPool* pool_;
    std::unique_ptr<SqlConnection> connection_;
    bool releases_;
    bool in_transaction_ = false;
  };

  // Calls that let others go on are served before those that want more; the releases of holders first,
  // which may use the connection beyond the limit.
  enum class Urgency { usual, urgent, release };
  // Fails as the opening of a connection failed, unreachable at the deadline, or cancelled.
  Task<Result<Loan>> take(Deadline deadline, std::stop_token stop = {},
                          Urgency urgency = Urgency::usual);
  // Ends what is under way and all that are idle.
  void close();

 private:
  struct Waiter {
    Waiter(Runtime& runtime, Urgency its_urgency) : served(runtime), urgency(its_urgency) {}
    Event served;
    Urgency urgency;
    std::unique_ptr<SqlConnection> connection;
    std::optional<Failure> failure;
  };
  struct Idle {
    std::unique_ptr<SqlConnection> connection;
    BootTime since;
  };

  // True if one more call of this kind may have a connection now.
  bool admits(Urgency urgency) const;
  std::size_t in_use() const { return calls_ + releases_; }
  void count(bool release, int change);
  Task<Result<void>> open_one();
  void give_back(std::unique_ptr<SqlConnection> connection, bool sound, bool release);
  void keep(std::unique_ptr<SqlConnection> connection);
  // Hands idle connections to the waiters that may have them.
  void serve();
  void open_if_needed();
  void close_unneeded();
  void on_failed_opening();

  Runtime& runtime_;
  Open open_;
  std::size_t most_;
  const std::string whom_;
  std::size_t calls_ = 0;     // connections on loan, but for those of
  std::size_t releases_ = 0;  // releases
  std::vector<Idle> idle_;    // the last used is last
  std::list<Waiter*> queue_;  // the most urgent first
  Reopening reopening_;       // Last: its task ends before what it uses.
};

}  // namespace holdfast::internal::table
