#include "serve/chance.h"

#include <openssl/sha.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <vector>

namespace holdfast::cli::serve {

namespace {

constexpr std::size_t kKnownBytes = ClaimId::kBytes / 2;

void draw(std::span<std::uint8_t> bytes) {
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    std::terminate();
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::vector<std::uint8_t> drawn(bytes);
  draw(drawn);
  std::string hex;
  for (const unsigned char byte : drawn) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::string digest_of(const std::string& text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

ClaimId claim_id_for(const std::string& text) {
  std::array<std::uint8_t, ClaimId::kBytes> id{};
  const std::string digest = digest_of(text);
  std::copy_n(digest.begin(), kKnownBytes, id.begin());
  draw(std::span(id).subspan(kKnownBytes));
  return ClaimId(id);
}

bool is_claim_of(const ClaimId& id, const std::string& text) {
  return id.hex().starts_with(claim_id_for(text).hex().substr(0, 2 * kKnownBytes));
}

}  // namespace holdfast::cli::serve
