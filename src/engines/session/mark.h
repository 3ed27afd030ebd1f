// Mark: a comment in front of a statement that waits in the server: it says who waits, because the server shows to
// everybody what its sessions are doing.
//
//   /* holdfast KEY CLAIM MODE LABEL */ …
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engines/session/recipe.h"

namespace holdfast::internal::session {

// A server shows the beginning of a long statement only, and a row has so much room.
inline constexpr std::size_t kMaxLabel = 200;

inline constexpr std::string_view kMarkBegin = "/* holdfast ";
// The key follows as so many hexadecimal digits.
inline constexpr std::size_t kMarkKeyDigits = 64;

std::string mark_of(const Key& key, const Claim& claim);

// For LIKE: the statements that wait for any lock, or for this one.
std::string marked();
std::string marked(const Key& key);

struct Marked {
  std::string key_hash;
  WaiterInfo waiter;
};

// The waiter, if a statement has a mark.
std::optional<Marked> read_mark(std::string_view statement);

}  // namespace holdfast::internal::session
