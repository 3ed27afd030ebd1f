// Where a lock lives in Redis. What is in each key: scripts.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::internal::redis {

// The hash slot of a key in a cluster.
std::uint16_t slot_of(std::string_view key);

// The keys of one lock, in the order in which the scripts take them: word token queue holders
// holds. All are in the slot of the word, whatever braces the name has.
struct Keys {
  // `name` includes the prefix of the URL.
  explicit Keys(const std::string& name);
  std::array<std::string, 5> all;
};

// Names that look like a key of another lock cannot be locks themselves.
bool looks_like_sibling(std::string_view name);

// The name behind a token key, if it is one; for SCAN.
std::optional<std::string> name_of_token_key(std::string_view key);
// A SCAN pattern that covers the token keys of all names.
extern const char* const kTokenKeyPattern;

}  // namespace holdfast::internal::redis
