#include "engines/postgres/pooled_connection.h"

#include <algorithm>

namespace holdfast::internal::postgres {

namespace {

// Whatever the database's default is.
constexpr const char* kBegin = "BEGIN ISOLATION LEVEL READ COMMITTED";

bool ends_transaction(const SqlStatement& statement) {
  return statement.text == "COMMIT" || statement.text == "ROLLBACK";
}

}  // namespace

Task<SqlOutcome> PooledConnection::exchange(const std::vector<SqlStatement>& asked,
                                            Deadline deadline, std::stop_token stop) {
  std::vector<SqlStatement> statements = asked;
  const bool goes_on = open_;
  const bool begins = !goes_on && statements.front().text.starts_with("BEGIN");
  const bool whole = !goes_on && !begins;
  open_ =
      (goes_on || begins) && std::none_of(statements.begin(), statements.end(), ends_transaction);
  if (begins && statements.front().text == "BEGIN") statements.front().text = kBegin;
  if (whole) {
    statements.insert(statements.begin(), {kBegin, {}});
    statements.push_back({"COMMIT", {}});
  }
  if (!goes_on) statements.insert(statements.begin() + 1, settings_);
  const std::size_t count = statements.size();
  for (SqlStatement& statement : statements) statement.once = true;
  SqlOutcome outcome = co_await inner_->run(std::move(statements), deadline, std::move(stop));
  std::vector<SqlRows>& results = outcome.results;
  if (!outcome.ok() && whole) results.clear();  // It is rolled back.
  if (!goes_on && results.size() > 1) results.erase(results.begin() + 1);
  if (whole && outcome.ok() && results.size() + 1 == count) {
    results.erase(results.begin());
    results.pop_back();
  }
  co_return outcome;
}

}  // namespace holdfast::internal::postgres
