#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace holdfast {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Code points that are valid, but not to be seen, or that change how others are seen.
constexpr std::array<Range, 15> kUnprintable{{
    {0x0000, 0x001F},    // C0 controls
    {0x007F, 0x009F},    // DEL, C1 controls
    {0x00AD, 0x00AD},    // soft hyphen
    {0x061C, 0x061C},    // Arabic letter mark
    {0x115F, 0x1160},    // Hangul fillers
    {0x180E, 0x180E},    // Mongolian vowel separator
    {0x200B, 0x200F},    // zero width, left-to-right and right-to-left marks
    {0x2028, 0x202E},    // line and paragraph separators, embeddings and overrides
    {0x2060, 0x206F},    // invisible operators, isolates
    {0xD800, 0xDFFF},    // surrogates
    {0xFDD0, 0xFDEF},    // noncharacters
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFF0, 0xFFFB},    // interlinear annotation
    {0xFFFE, 0xFFFF},    // noncharacters
    {0xE0000, 0xE0FFF},  // tags
}};

bool is_printable(std::uint32_t point) {
  return std::ranges::none_of(kUnprintable, [point](const Range& range) {
    return range.first <= point && point <= range.last;
  });
}

// Length of the well-formed, printable UTF-8 sequence at the start of `text`; 0 if there is none.
std::size_t printable_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  std::uint32_t point = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    point = point << 6 | (byte(i) & 0x3FU);
  }
  const std::uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  return point < smallest || point > 0x10FFFF || !is_printable(point) ? 0 : length;
}

}  // namespace

void write_hex(std::span<const std::uint8_t> bytes, char* out) {
  static constexpr std::array<std::array<char, 2>, 256> kOfByte = [] {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<std::array<char, 2>, 256> digits{};
    for (std::size_t byte = 0; byte < digits.size(); ++byte) {
      digits[byte] = {kDigits[byte >> 4], kDigits[byte & 15]};
    }
    return digits;
  }();
  for (const std::uint8_t byte : bytes) {
    std::memcpy(out, kOfByte[byte].data(), 2);
    out += 2;
  }
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string hex(bytes.size() * 2, '\0');
  write_hex(bytes, hex.data());
  return hex;
}

std::string to_hex(std::string_view bytes) {
  return to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

std::optional<std::string> bytes_from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_digit(hex[2 * i]);
    const int low = hex_digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string duration_text(Duration span) {
  const double seconds = std::chrono::duration<double>(span).count();
  char text[48];
  if (seconds >= 120) {
    std::snprintf(text, sizeof text, "%.1f min", seconds / 60);
  } else if (seconds >= 1) {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  } else if (seconds >= 1e-3) {
    std::snprintf(text, sizeof text, "%.0f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.0f us", seconds * 1e6);
  }
  return text;
}

std::string printable(std::string_view bytes, std::size_t max_bytes) {
  std::string out;
  const std::size_t total = bytes.size();
  while (!bytes.empty() && total - bytes.size() < max_bytes) {
    if (const std::size_t length = printable_sequence(bytes); length > 0) {
      out += bytes.substr(0, length);
      bytes.remove_prefix(length);
    } else {
      char text[8];
      std::snprintf(text, sizeof text, "\\x%02X", static_cast<unsigned char>(bytes[0]));
      out += text;
      bytes.remove_prefix(1);
    }
  }
  if (!bytes.empty()) out += "... (" + std::to_string(total) + " bytes)";
  return out;
}

void make_printable(std::string& message) {
  constexpr std::size_t kMaxLength = 4096;
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  // Nearly all are, and "busy" is a message of the fast path.
  if (message.size() <= kMaxLength && std::ranges::all_of(message, is_plain)) return;
  message = printable(message, kMaxLength);
}

}  // namespace holdfast
