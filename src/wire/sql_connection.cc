#include "wire/sql_connection.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace holdfast::internal {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool cell_fits(char kind, const std::optional<std::string>& cell) {
  if (!cell) return kind == 'n' || kind == 'p' || kind == 'b';
  if (kind == 'b' || kind == 'B') return true;
  const std::optional<std::int64_t> number = whole_number(*cell);
  return number && (kind == 'n' || kind == 'N' || *number > 0);
}

std::optional<std::string> misfit(const std::vector<SqlStatement>& statements,
                                  const SqlOutcome& outcome) {
  const std::size_t results = outcome.results.size();
  if (results > statements.size() || (outcome.ok() && results < statements.size())) {
    return std::to_string(results) + " results for " + std::to_string(statements.size()) +
           " statements";
  }
  for (std::size_t i = 0; i < results; ++i) {
    if (const auto problem = misfit(statements[i].answer, outcome.results[i])) {
      return "statement " + std::to_string(i + 1) + ": " + *problem;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> whole_number(const std::string& cell) {
  std::int64_t number = 0;
  const char* const end = cell.data() + cell.size();
  auto [rest, error] = std::from_chars(cell.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  if (rest != end && *rest == '.') rest = std::find_if_not(rest + 1, end, is_digit);
  if (rest != end) return std::nullopt;
  return number;
}

std::optional<std::string> misfit(const SqlShape& shape, const SqlRows& rows) {
  const std::size_t count = rows.rows.size();
  if (count < shape.least_rows || count > shape.most_rows) return std::to_string(count) + " rows";
  for (const auto& row : rows.rows) {
    if (row.size() < shape.columns.size()) return std::to_string(row.size()) + " columns";
    for (std::size_t i = 0; i < shape.columns.size(); ++i) {
      if (cell_fits(shape.columns[i], row[i])) continue;
      return "column " + std::to_string(i + 1) + " is " + (row[i] ? "'" + *row[i] + "'" : "NULL");
    }
  }
  return std::nullopt;
}

Failure not_understood(const std::string& what) {
  return Failure(Code::unknown,
                 std::string("the database server: ") + kNotUnderstood + " (" + what + ")");
}

void throw_not_understood(const std::string& what) { throw LockError(not_understood(what)); }

void SqlConnection::check_shape(const std::vector<SqlStatement>& statements, SqlOutcome& outcome) {
  const std::optional<std::string> problem = misfit(statements, outcome);
  if (!problem) return;
  // The rest of its answers cannot be trusted, either.
  const std::string why = std::string(kNotUnderstood) + " (" + *problem + ")";
  give_up(why);
  outcome.results.clear();
  outcome.error = SqlError{.message = why, .lost = true, .may_have_run = true};
}

Task<SqlOutcome> SqlConnection::run_borrowed(const std::vector<SqlStatement>& statements,
                                             Deadline deadline, std::stop_token stop) {
  SqlOutcome outcome = co_await exchange(statements, deadline, std::move(stop));
  check_shape(statements, outcome);
  co_return outcome;
}

Task<SqlOutcome> SqlConnection::run(std::vector<SqlStatement> statements, Deadline deadline,
                                    std::stop_token stop) {
  SqlOutcome outcome = co_await exchange(statements, deadline, std::move(stop));
  check_shape(statements, outcome);
  co_return outcome;
}

}  // namespace holdfast::internal
