// Randomness for ids and jitter.
#pragma once

#include <array>
#include <cstdint>

#include "holdfast/ids.h"
#include "holdfast/runtime.h"

namespace holdfast::internal {

// xoshiro256**: fast, well distributed, seedable; not secret.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  // Seeded by the kernel, and again in a forked child, which must not repeat its parent's ids.
  static Random from_kernel();

  std::uint64_t next();

 private:
  std::array<std::uint64_t, 4> state_;
};

ClaimId draw_claim_id(Runtime& runtime);

}  // namespace holdfast::internal
