// A claim id as stores keep it: its 16 bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "holdfast/ids.h"

namespace holdfast::internal {

inline std::string claim_bytes(const ClaimId& claim) {
  return {reinterpret_cast<const char*>(claim.bytes().data()), ClaimId::kBytes};
}

// Bytes of another length are a stranger's: their first 16, or zeros behind them.
inline ClaimId claim_from_bytes(std::string_view bytes) {
  std::array<std::uint8_t, ClaimId::kBytes> raw{};
  std::memcpy(raw.data(), bytes.data(), std::min(bytes.size(), raw.size()));
  return ClaimId(raw);
}

}  // namespace holdfast::internal
