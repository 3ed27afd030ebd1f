#include "engines/table/dialect.h"

#include <algorithm>
#include <charconv>

#include "base/sha256.h"

namespace holdfast::internal::table {

namespace {

// Index entries have a limit: 2704 bytes on PostgreSQL, 3072 on MySQL, less on old ones.
constexpr std::size_t kLongest = 255;
constexpr char kHashed = '\0';

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

Key::Key(const std::string& full) : key(full), full_name(nullptr) {
  if (full.size() <= kLongest && full.front() != kHashed) return;
  key = kHashed + ("sha256:" + sha256_hex(full));
  full_name = full;
}

std::string Key::name_of(const std::string& key, const std::optional<std::string>& full_name) {
  return full_name.value_or(key);
}

}  // namespace holdfast::internal::table
