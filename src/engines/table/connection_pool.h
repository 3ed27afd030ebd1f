// ConnectionPool: a few connections to one database server, shared by all calls of a client. A call
// has one to itself while it runs; others wait in the order in which they came. Opened on demand,
// one at a time, and again after they broke; those that nobody needs any more are closed. Inside
// the loop only.
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
  // A new connection, ready for use.
  using Open = std::function<Task<Result<std::unique_ptr<SqlConnection>>>()>;

  // `whom` they lead to, for messages: "PostgreSQL at db.example:5432".
  ConnectionPool(Runtime& runtime, Open open, std::size_t most, std::string whom);
  ~ConnectionPool();

  // A connection on loan.
  class Loan {
   public:
    Loan(ConnectionPool& pool, std::unique_ptr<SqlConnection> connection)
        : pool_(&pool), connection_(std::move(connection)) {}
    Loan(Loan&& other) noexcept = default;
    Loan& operator=(Loan&& other) noexcept = delete;
    ~Loan();

    SqlConnection* operator->() { return connection_.get(); }
    // While it is so, giving it back closes it: nobody else may go on with our transaction.
    void set_in_transaction(bool value) { in_transaction_ = value; }

   private:
    ConnectionPool* pool_;
    std::unique_ptr<SqlConnection> connection_;
    bool in_transaction_ = false;
  };

  // What lets others go on, or keeps what is held, goes before what wants more.
  enum class Urgency { usual, urgent };
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

  Task<Result<void>> open_one();
  void give_back(std::unique_ptr<SqlConnection> connection, bool sound);
  void offer(std::unique_ptr<SqlConnection> connection);
  void open_if_needed();
  void close_unneeded();
  void on_failed_opening();

  Runtime& runtime_;
  Open open_;
  std::size_t most_;
  const std::string whom_;
  std::size_t in_use_ = 0;
  std::vector<Idle> idle_;    // the last used is last
  std::list<Waiter*> queue_;  // the urgent first
  Reopening reopening_;       // Last: its task ends before what it uses.
};

}  // namespace holdfast::internal::table
