// The pure decision behind every lock that is kept as rows: given who holds a name now, may one more come in?
#pragma once

#include <cstdint>

#include "holdfast/engine.h"

namespace holdfast::internal {

struct Holders {
  bool exclusive = false;
  std::uint32_t sharing = 0;            // how many hold in sharing_mode
  Mode sharing_mode = Mode::exclusive;  // shared or permit; meaningful if sharing > 0
};

// REQUIRES: for permits, the same number for all who hold.
constexpr bool admits(const Holders& now, Mode mode, std::uint32_t permits) {
  if (now.exclusive) return false;
  if (now.sharing == 0) return true;
  if (mode == Mode::exclusive || mode != now.sharing_mode) return false;
  return mode == Mode::shared || now.sharing < permits;
}

}  // namespace holdfast::internal
