// How names and claims stand in the tables of a database server.
#pragma once

#include <optional>
#include <string>

#include "engines/kit/claim_bytes.h"
#include "holdfast/ids.h"
#include "wire/sql_connection.h"

namespace holdfast::internal::table {

// The key of a name's rows: the name, or its hash if it is too long for an index.
struct Key {
  explicit Key(const std::string& full_name);

  std::string key;
  SqlValue full_name;  // null if it is the key

  // The name that stands behind a row.
  static std::string name_of(const std::string& key, const std::optional<std::string>& full_name);
};

inline SqlValue to_value(const ClaimId& claim) { return claim_bytes(claim); }
inline SqlValue to_value(std::int64_t number) { return number; }

}  // namespace holdfast::internal::table
