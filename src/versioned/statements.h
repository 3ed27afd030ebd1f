// Parts of the statements for versioned rows.
#pragma once

#include <string>

#include "holdfast/versioned.h"
#include "wire/sql_connection.h"

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

}  // namespace holdfast::internal
