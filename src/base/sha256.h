// SHA-256 (FIPS 180-4): for store keys that must not collide, also when somebody tries. Our own,
// because OpenSSL is loaded only where TLS is used.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::internal {

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace holdfast::internal
