#include "engines/table/key.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/sha256.h"

namespace holdfast::internal::table {

namespace {

// Index entries have a limit: 2704 bytes on PostgreSQL, 3072 on MySQL, less on old ones.
constexpr std::size_t kLongest = 255;
constexpr char kHashed = '\0';

}  // namespace

Key::Key(const std::string& full) : key(full), full_name(nullptr) {
  if (full.size() <= kLongest && full.front() != kHashed) return;
  key = kHashed + ("sha256:" + sha256_hex(full));
  full_name = full;
}

std::string Key::name_of(const std::string& key, const std::optional<std::string>& full_name) {
  return full_name.value_or(key);
}

}  // namespace holdfast::internal::table
