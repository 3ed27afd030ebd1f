// SqlShape: the form that the answer to a statement must have for us to read it. Checked in one place,
// SqlConnection::run(): a server, or a proxy in front of it, that sends fewer results, rows or columns than
// were asked for, or text for a number, is an error of that request, and nobody reads what is not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace holdfast::internal {

struct SqlRows;

struct SqlShape {
  // A letter for each column that is read: n a whole number, p one above 0, b bytes. In capitals it is never
  // NULL. There may be more columns.
  std::string columns;
  std::size_t least_rows = 0;
  std::size_t most_rows = std::numeric_limits<std::size_t>::max();
};

inline SqlShape no_rows() { return {.columns = "", .least_rows = 0, .most_rows = 0}; }
inline SqlShape one_row(std::string columns) { return {std::move(columns), 1, 1}; }
inline SqlShape row_if_any(std::string columns) { return {std::move(columns), 0, 1}; }
inline SqlShape rows_of(std::string columns) { return {.columns = std::move(columns)}; }

// Says why the rows do not fit; nothing if they do.
std::optional<std::string> misfit(const SqlShape& shape, const SqlRows& rows);

// A cell as a whole number; a fraction is dropped. Nothing if it is none.
std::optional<std::int64_t> whole_number(const std::string& cell);

}  // namespace holdfast::internal
