// SqlConnection: one connection to a database server, as all of them are used here. One call at a
// time. The SQL itself is the dialect's business, drivers only carry it. Inside the loop only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "holdfast/result.h"
#include "holdfast/runtime.h"
#include "wire/sql_shape.h"

namespace holdfast::internal {

class ServerGroup;

// A parameter: nothing, a number, or bytes (a text is its bytes).
using SqlValue = std::variant<std::nullptr_t, std::int64_t, std::string>;

struct SqlStatement {
  // With the placeholders of the dialect ($1 for PostgreSQL, ? for MySQL). A driver may prepare it
  // under this very text, so it should be one of few.
  std::string text;
  std::vector<SqlValue> values;
  bool once = false;     // The text is no other's: it is not worth preparing.
  SqlShape answer = {};  // Anything, unless it is said.
};

// Throws LockError: the answer has not got what is read of it. The net for answers without a SqlShape.
[[noreturn]] void throw_not_understood(const std::string& what);

// The answer to one statement. Cells are bytes, numbers in decimal.
struct SqlRows {
  std::vector<std::vector<std::optional<std::string>>> rows;
  std::uint64_t affected = 0;  // rows that were inserted, updated or deleted
  std::uint64_t id = 0;        // MySQL: what the statement gave to LAST_INSERT_ID, if it did

  bool empty() const { return rows.empty(); }
  // These throw LockError (unknown) for a cell that is not there; number() for one that is no number.
  const std::optional<std::string>& at(std::size_t row, std::size_t column) const {
    if (row >= rows.size()) throw_not_understood("a row is missing");
    if (column >= rows[row].size()) throw_not_understood("a column is missing");
    return rows[row][column];
  }
  bool null(std::size_t row, std::size_t column) const { return !at(row, column); }
  std::string bytes(std::size_t row, std::size_t column) const {
    return at(row, column).value_or(std::string());
  }
  // 0 if it is null.
  std::int64_t number(std::size_t row, std::size_t column) const {
    const std::optional<std::string>& cell = at(row, column);
    if (!cell) return 0;
    const std::optional<std::int64_t> number = whole_number(*cell);
    if (!number) throw_not_understood("'" + *cell + "' is no number");
    return *number;
  }
};

inline constexpr const char* kNotUnderstood =
    "it answered something that we do not understand; is there a proxy in between?";

struct SqlError {
  std::string state;  // SQLSTATE, five characters; empty if it is not the server that speaks
  int number = 0;     // MySQL's own number of the error
  std::string message;
  bool lost = false;          // the connection is gone, and with it what its session held
  bool may_have_run = false;  // it left, and no answer came
  bool cancelled = false;     // by the caller's stop_token
  // The server can only be read (any more). If it is one of a group, another may be the primary by now: the connection
  // is closed (`lost`), and the same request on a new one may succeed.
  bool read_only = false;
};

struct SqlOutcome {
  // One for each statement that was executed, in its SqlShape; all of them if there is no error.
  std::vector<SqlRows> results;
  std::optional<SqlError> error;
  BootTime sent_at;  // read before the first byte left

  bool ok() const { return !error.has_value(); }
};

class SqlConnection {
 public:
  virtual ~SqlConnection();

  // Sends all statements at once; the server executes them in order, up to the first error. They
  // are one transaction only if they say so (BEGIN … COMMIT); after an error inside one, ROLLBACK
  // is the caller's to send.
  // A call that ends without its answer (deadline, stop) closes the connection: what the server
  // sends later must not be taken for another's. So does an answer that has not got the shape that was
  // asked for: it is an error with `lost` and `may_have_run`.
  // REQUIRES: no other call is under way.
  Task<SqlOutcome> run(std::vector<SqlStatement> statements, Deadline deadline,
                       std::stop_token stop = {});
  // The same without a copy. REQUIRES: the statements outlive the call.
  Task<SqlOutcome> run_borrowed(const std::vector<SqlStatement>& statements, Deadline deadline,
                                std::stop_token stop = {});

  // The next run() is answered when somebody else lets it: it is not worth looking for that answer
  // before one sleeps.
  void expect_to_wait() { long_wait_ahead_ = true; }

  virtual bool connected() const = 0;
  // Set when the connection is gone, whoever ended it; stays set.
  virtual Event& lost() = 0;
  virtual void close() = 0;
  // Closes it because of what the server does, which the observer hears.
  virtual void give_up(const std::string& why) = 0;

  // It leads to one of several servers. REQUIRES: the group knows it.
  void join(std::shared_ptr<ServerGroup> group) { group_ = std::move(group); }

 protected:
  // run_borrowed(), whatever the answer looks like.
  virtual Task<SqlOutcome> exchange(const std::vector<SqlStatement>& statements, Deadline deadline,
                                    std::stop_token stop) = 0;
  bool in_group() const { return group_ != nullptr; }
  // The server said that it can only be read. Closes the connection. REQUIRES: in_group().
  void report_read_only();
  bool take_long_wait() { return std::exchange(long_wait_ahead_, false); }

 private:
  // Refuses an answer that has not got the shape that was asked for.
  void check_shape(const std::vector<SqlStatement>& statements, SqlOutcome& outcome);

  bool long_wait_ahead_ = false;
  std::shared_ptr<ServerGroup> group_;
};

}  // namespace holdfast::internal
