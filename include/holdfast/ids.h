// Distinct types for the three things that a lock library must never mix up:
// what is locked (Name), who asks (ClaimId) and in which order it was granted (Token).
// All are values: copy and share them freely between threads.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/export.h"

namespace holdfast {

// The name of a lock: 1 to 16384 bytes, any bytes. Engines escape or hash what their own keys
// cannot hold, so slashes, braces, spaces, newlines and NUL are all legal.
class HOLDFAST_API Name {
 public:
  static constexpr std::size_t kMaxBytes = 16384;

  // Throws LockError (invalid_argument) if `bytes` is empty or too long.
  Name(std::string_view bytes);  // NOLINT(google-explicit-constructor): a name is a string
  Name(const char* text) : Name(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  Name(const std::string& text) : Name(std::string_view(text)) {}  // NOLINT

  // Why `bytes` is not a name, or nothing if it is one.
  static std::optional<std::string> problem_with(std::string_view bytes);

  const std::string& bytes() const { return bytes_; }
  // For people and logs: control bytes and invalid UTF-8 appear as \xNN, long names are cut.
  std::string display() const;

  friend auto operator<=>(const Name&, const Name&) = default;
  friend bool operator==(const Name&, const Name&) = default;

 private:
  std::string bytes_;
};

// The claimant: 128 random bits, drawn once per claim and kept across every retry, so that the
// engine can recognise a repeated request and only the owner can renew or release.
class HOLDFAST_API ClaimId {
 public:
  static constexpr std::size_t kBytes = 16;

  ClaimId() = default;
  explicit ClaimId(const std::array<std::uint8_t, kBytes>& bytes) : bytes_(bytes) {}

  // 32 lower-case hexadecimal digits.
  std::string hex() const;
  // The same without a string: as a temporary it lives to the end of the expression.
  class Digits;
  Digits digits() const;
  static std::optional<ClaimId> from_hex(std::string_view text);

  const std::array<std::uint8_t, kBytes>& bytes() const { return bytes_; }

  friend auto operator<=>(const ClaimId&, const ClaimId&) = default;
  friend bool operator==(const ClaimId&, const ClaimId&) = default;

 private:
  std::array<std::uint8_t, kBytes> bytes_{};
};

class HOLDFAST_API ClaimId::Digits {
 public:
  explicit Digits(const ClaimId& id);
  operator std::string_view() const {  // NOLINT(google-explicit-constructor): it is one
    return {text_.data(), text_.size()};
  }

 private:
  std::array<char, 2 * kBytes> text_;
};

inline ClaimId::Digits ClaimId::digits() const { return Digits(*this); }

// A fencing token: strictly increasing per name in grant order. Hand it, and the lease's mode, to the
// resource that the lock protects, and let that refuse a token lower than it has seen (see fence.h).
class HOLDFAST_API Token {
 public:
  Token() = default;
  explicit constexpr Token(std::uint64_t value) : value_(value) {}

  constexpr std::uint64_t value() const { return value_; }
  std::string str() const { return std::to_string(value_); }

  friend auto operator<=>(const Token&, const Token&) = default;
  friend bool operator==(const Token&, const Token&) = default;

 private:
  std::uint64_t value_ = 0;
};

}  // namespace holdfast

template <>
struct std::hash<holdfast::ClaimId> {
  std::size_t operator()(const holdfast::ClaimId& id) const noexcept {
    std::size_t word = 0;  // The id is random: its first bytes are hash enough.
    for (std::size_t i = 0; i < sizeof word; ++i) word = word << 8 | id.bytes()[i];
    return word;
  }
};
