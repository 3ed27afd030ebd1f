#include "base/random.h"

#include <sys/random.h>

#include <bit>
#include <cstring>

namespace holdfast::internal {

Random::Random(std::uint64_t seed) : state_{} {
  // splitmix64 spreads a small seed over the whole state.
  for (std::uint64_t& word : state_) {
    seed += 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = seed;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
    word = mixed ^ (mixed >> 31);
  }
}

Random Random::from_kernel() {
  Random random(0);
  // getrandom() of up to 256 bytes is not interrupted and cannot come short once the pool is up.
  if (getrandom(random.state_.data(), sizeof random.state_, 0) != sizeof random.state_) {
    std::terminate();
  }
  return random;
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

ClaimId draw_claim_id(Runtime& runtime) {
  const std::array<std::uint64_t, 2> words{runtime.random(), runtime.random()};
  std::array<std::uint8_t, ClaimId::kBytes> bytes{};
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return ClaimId(bytes);
}

}  // namespace holdfast::internal
