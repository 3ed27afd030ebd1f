// The key of a lock in the tables of the recipes that live in a session: SHA-256 of recipe and name. `name` includes
// the prefix of the URL.
#pragma once

#include <string>
#include <string_view>

#include "base/sha256.h"

namespace holdfast::internal {

inline std::string session_key_hex(std::string_view recipe, const std::string& name) {
  return sha256_hex(std::string(recipe) + ":" + name);
}

}  // namespace holdfast::internal
