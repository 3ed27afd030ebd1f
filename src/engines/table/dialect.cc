#include "engines/table/dialect.h"

#include <algorithm>
#include <charconv>

namespace holdfast::internal::table {

namespace {

// The highest number of a parameter in it.
std::size_t parameters_of(const std::string& text) {
  std::size_t most = 0;
  for (std::size_t i = text.find('$'); i != std::string::npos; i = text.find('$', i + 1)) {
    std::size_t number = 0;
    std::from_chars(text.data() + i + 1, text.data() + text.size(), number);
    most = std::max(most, number);
  }
  return most;
}

}  // namespace

std::vector<SqlStatement> Script::with(const std::vector<SqlValue>& values) const {
  std::vector<SqlStatement> all;
  all.reserve(statements.size());
  for (const std::string& text : statements) {
    const auto count = static_cast<std::ptrdiff_t>(parameters_of(text));
    all.push_back({text, {values.begin(), values.begin() + count}});
  }
  return all;
}

}  // namespace holdfast::internal::table
