#include "holdfast/ids.h"

#include <cstring>

#include "base/text.h"
#include "holdfast/result.h"
#include "holdfast/short_text.h"

namespace holdfast {

namespace {
constexpr std::size_t kDisplayBytes = 120;
}

void internal::refuse_long_text(std::string_view text, std::size_t most) {
  throw LockError(Failure(Code::invalid_argument, "'" + printable(text, kDisplayBytes) +
                                                      "' is too long: it may have " +
                                                      std::to_string(most) + " bytes, and has " +
                                                      std::to_string(text.size())));
}

std::optional<std::string> Name::problem_with(std::string_view bytes) {
  if (bytes.empty()) return "a lock's name must not be empty";
  if (bytes.size() > kMaxBytes) {
    return "a lock's name has at most " + std::to_string(kMaxBytes) + " bytes, this one has " +
           std::to_string(bytes.size()) + "; use a hash of it";
  }
  return std::nullopt;
}

Name::Name(std::string_view bytes) : bytes_(bytes) {
  if (auto problem = problem_with(bytes)) {
    throw LockError(Failure(Code::invalid_argument, std::move(*problem)));
  }
}

std::string Name::display() const { return printable(bytes_, kDisplayBytes); }

std::string ClaimId::hex() const { return to_hex(bytes_); }

ClaimId::Digits::Digits(const ClaimId& id) { write_hex(id.bytes_, text_.data()); }

std::optional<ClaimId> ClaimId::from_hex(std::string_view text) {
  const std::optional<std::string> raw = bytes_from_hex(text);
  if (!raw || raw->size() != kBytes) return std::nullopt;
  std::array<std::uint8_t, kBytes> bytes{};
  std::memcpy(bytes.data(), raw->data(), kBytes);
  return ClaimId(bytes);
}

}  // namespace holdfast
