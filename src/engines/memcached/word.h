// A lock in memcached: its two keys, and the word under the first of them.
//
//   KEY            who holds it, with a ttl; not there: free
//   KEY:hf:token   the last token that was drawn, a decimal number, without a ttl
//
// KEY is the prefix and the name, if memcached takes that for a key; otherwise the prefix and
// "hf:sha256:" and the SHA-256 of the name. The word has the whole name in it: whoever looks finds
// it, and two names with one key would notice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/engine.h"

namespace holdfast::internal::memcached {

inline constexpr std::size_t kMaxKey = 250;  // memcached's own limit
inline constexpr std::size_t kMaxPrefix = 100;
inline constexpr std::string_view kTokenSuffix = ":hf:token";
inline constexpr std::string_view kHashedKey = "hf:sha256:";
// The client flags of a word: a list is then made without reading what is not ours.
inline constexpr std::uint32_t kWordFlags = 0x68660001;

struct Keys {
  // REQUIRES: is_plain(prefix), and at most kMaxPrefix bytes.
  Keys(std::string_view prefix, const Name& name);

  std::string word;
  std::string token;
};

// Neither control characters nor spaces: what memcached allows in a key.
bool is_plain(std::string_view key);

// "hf1 CLAIM TOKEN SINCE_US NAME_BYTES NAME LABEL"
struct Word {
  ClaimId claim;
  Token token;              // 0: not recorded yet; the claim holds all the same
  std::int64_t since_us{};  // the holder's wall clock
  std::string name;
  std::string label;

  std::string text() const;
  // Nothing if it is not one of ours.
  static std::optional<Word> parse(std::string_view text);
};

// The ttl to ask for so that the item surely lasts `ttl`: memcached counts whole seconds, and a
// second that has begun counts as one. More than 30 days would be read as a date.
struct ItemTtl {
  explicit ItemTtl(Duration ttl);
  std::int64_t seconds;  // to ask for
  Duration sure;         // how long it will last at least: `ttl`, or a second less than 30 days
};

// How long an item lasts at least that has `left` seconds left, as memcached says.
Duration sure_time(std::optional<std::uint64_t> left);

}  // namespace holdfast::internal::memcached
