// PreviousIncarnations: the numbers under which waiters of this client may stand in the queues. Each
// connection that listens has a number of its own; when another one takes its place, the waiters
// move to the new number. Whether they did can stay unknown (no answer came): then they may stand
// under the number that was tried as well.
#pragma once

#include <vector>

#include "engines/table/dialect.h"
#include "engines/table/rows.h"
#include "wire/sql_connection.h"

namespace holdfast::internal::table {

class PreviousIncarnations {
 public:
  // The statements that move all of them to `fresh`.
  std::vector<SqlStatement> move_to(ProcessId fresh, const Dialect& dialect) {
    std::vector<SqlStatement> statements;
    for (const ProcessId former : numbers_) {
      statements.push_back({dialect.move_waiters, {fresh, former}});
    }
    if (numbers_.empty()) return statements;  // Nobody can stand anywhere yet.
    numbers_.push_back(fresh);
    // A waiter that is forgotten loses its place, and nothing else.
    if (numbers_.size() > kMax) numbers_.erase(numbers_.begin() + 1);
    return statements;
  }
  // They were executed.
  void moved(ProcessId fresh) { numbers_ = {fresh}; }

 private:
  static constexpr std::size_t kMax = 16;
  std::vector<ProcessId> numbers_;
};

}  // namespace holdfast::internal::table
