#include "serve/chance.h"

#include <openssl/sha.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <exception>
#include <vector>

namespace holdfast::cli::serve {

std::string random_hex(std::size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::vector<unsigned char> drawn(bytes);
  if (getrandom(drawn.data(), drawn.size(), 0) != static_cast<ssize_t>(bytes)) std::terminate();
  std::string hex;
  for (const unsigned char byte : drawn) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

ClaimId claim_id_of(const std::string& text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::array<std::uint8_t, ClaimId::kBytes> id{};
  std::copy_n(digest.begin(), id.size(), id.begin());
  return ClaimId(id);
}

}  // namespace holdfast::cli::serve
