// SharedConnection: one connection to a database server, opened when it is needed. Calls wait for each other. Inside
// the loop only.
#pragma once

#include <functional>
#include <memory>

#include "holdfast/runtime.h"
#include "wire/sql_connection.h"

namespace holdfast::internal {

class SharedConnection {
 public:
  using Open = std::function<Task<Result<std::unique_ptr<SqlConnection>>>(Deadline)>;
  SharedConnection(Runtime& runtime, Open open)
      : runtime_(runtime), free_(runtime), open_(std::move(open)) {
    free_.set();
  }

  // Errors of the server are for the caller to judge.
  Task<Result<SqlOutcome>> run(SqlStatement statement, Deadline deadline) {
    while (!free_.is_set()) {
      if (co_await free_.wait(deadline) != Woken::signalled) {
        co_return Failure(Code::unreachable, "the connection was busy all the time");
      }
    }
    free_.reset();
    struct Leaving {
      Event& free;
      ~Leaving() { free.set(); }
    };
    const Leaving leaving{free_};
    // The server ends it after ten minutes, and a request that crosses that end has an unknown outcome.
    constexpr Duration kLongestIdle = std::chrono::minutes(5);
    if (runtime_.now() - last_used_ > kLongestIdle) connection_.reset();
    last_used_ = runtime_.now();
    if (!connection_ || !connection_->connected()) {
      Result<std::unique_ptr<SqlConnection>> opened = co_await open_(deadline);
      if (!opened) co_return opened.failure();
      connection_ = std::move(opened).value();
    }
    std::vector<SqlStatement> statements;
    statements.push_back(std::move(statement));
    co_return co_await connection_->run(std::move(statements), deadline);
  }

 private:
  Runtime& runtime_;
  Event free_;
  Open open_;
  BootTime last_used_;
  std::unique_ptr<SqlConnection> connection_;
};

}  // namespace holdfast::internal
