// FNV-1a, 64 bits: small, and enough to notice torn writes and to spread names. Every step is
// invertible, so no change of a single byte goes unnoticed. Not against an adversary.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::internal::fence {

constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t seed = 0) {
  std::uint64_t sum = 0xcbf29ce484222325 ^ seed;
  for (const char byte : bytes) {
    sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return sum;
}

}  // namespace holdfast::internal::fence
