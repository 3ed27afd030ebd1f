// Where a lock lives in Redis. scripts.h has the contents of each key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/redis/words.h"

namespace holdfast::internal::redis {

inline constexpr std::uint16_t kSlots = 16384;
// The hash slot of a key in a cluster.
std::uint16_t slot_of(std::string_view key);

// "{123}": puts what contains it into this slot.
std::string slot_tag(std::uint16_t slot);

// The name of another key in the slot of `name`, whatever braces that has. No two names have one in
// common. The letters: t q h i of a lock, d of a record, f x of a fence, r w g o of a lock
// on many nodes.
std::string sibling_key(const std::string& name, char letter);

// The keys that a script takes, in its order; all are in the slot of the first.
struct Keys {
  // Of a lock, the first `count` of: word token queue holders holds. `name` includes the prefix of
  // the URL.
  explicit Keys(const std::string& name, std::size_t count = 5);
  // Of fenced data: data mark lock writer. The third is the token key of the lock that must not have
  // the same name.
  static Keys of_fenced(const std::string& name);
  // Of a lock that many nodes vote on: word fence marker queue group details. The marker is the
  // same for all locks of a node.
  static Keys of_vote(const std::string& name, const std::string& marker);
  // Just these.
  static Keys of(Words keys);

  Words all;
  std::string_view word() const { return all.at(0); }

 private:
  Keys() = default;
};

// Names that look like a key of another lock cannot be locks themselves.
bool looks_like_sibling(std::string_view name);

// The name behind a sibling key with this letter, if it is one; for SCAN.
std::optional<std::string> name_of_sibling_key(std::string_view key, char letter);
inline std::optional<std::string> name_of_token_key(std::string_view key) {
  return name_of_sibling_key(key, 't');
}
// A SCAN pattern that covers the keys with this letter of all names.
std::string sibling_pattern(char letter);

}  // namespace holdfast::internal::redis
