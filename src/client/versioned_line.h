// Shared by the stores of versioned rows in database servers. Inside the loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/versioned_store.h"

namespace holdfast::internal {

// "bank.accounts" with each part in the marks that the database wants.
inline std::string quoted(const std::string& identifier, char mark) {
  std::string text(1, mark);
  for (const char c : identifier) {
    if (c == '.') {
      text.append(1, mark).append(".").append(1, mark);
    } else {
      text.append(c == mark ? 2 : 1, c);
    }
  }
  return text + mark;
}

inline SqlValue value_of(const Versioned::Value& value) {
  return value ? SqlValue(*value) : SqlValue(nullptr);
}

// The answer to a read: the version, and a cell for each column. (A key need not be unique, alas.)
inline SqlShape versioned_row(std::size_t columns) {
  return rows_of("n" + std::string(columns, 'b'));
}

// One connection, opened when it is needed. Calls wait for each other.
class Line {
 public:
  using Open = std::function<Task<Result<std::unique_ptr<SqlConnection>>>(Deadline)>;
  Line(Runtime& runtime, Open open) : runtime_(runtime), free_(runtime), open_(std::move(open)) {
    free_.set();
  }

  // The failure of an error is the caller's business.
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

Result<std::unique_ptr<VersionedStore>> open_versioned_postgres(const Url& url,
                                                                const VersionedTable& table,
                                                                Runtime& runtime,
                                                                const ClientOptions& options);

}  // namespace holdfast::internal
