// The inspect script's reply as a LockInfo.
#pragma once

#include "engines/redis/reply.h"
#include "holdfast/engine.h"

namespace holdfast::internal::redis {

LockInfo lock_info(const Name& name, const Reply& reply);

// The exclusive holder that a word names; nothing if it is another client's.
struct WordOwner {
  ClaimId id;
  std::string label;
};
std::optional<WordOwner> owner_of(std::string_view word);

// A time to live that a server named. Redis allows ones that no Duration can hold: they count as a
// century.
Duration ttl_of_ms(std::int64_t span_ms);

inline constexpr std::string_view kGroupWord = "holdfast:";
inline constexpr const char* kForeignLabel = "a client that is not Holdfast's";

}  // namespace holdfast::internal::redis
