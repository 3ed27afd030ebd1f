#include "base/ascii_json.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace holdfast::internal {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

struct Decoded {
  std::uint32_t point;
  std::size_t bytes;
};

// The code point at the start of `text`; the replacement for a byte that begins none.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {kReplacement, 1};
  std::uint32_t point = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {kReplacement, 1};
    point = point << 6 | (byte(i) & 0x3FU);
  }
  const std::uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < smallest || point > 0x10FFFF || surrogate) return {kReplacement, 1};
  return {point, length};
}

void append_unit(std::string& out, std::uint32_t unit) {
  char text[8];
  std::snprintf(text, sizeof text, "\\u%04X", unit);
  out += text;
}

void append_point(std::string& out, std::uint32_t point) {
  if (point == '"' || point == '\\') out += '\\';
  if (point >= ' ' && point <= '~') {
    out += static_cast<char>(point);
  } else if (point < 0x10000) {
    append_unit(out, point);
  } else {
    append_unit(out, 0xD800 + ((point - 0x10000) >> 10));
    append_unit(out, 0xDC00 + (point & 0x3FF));
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text, std::size_t max_bytes) {
  constexpr std::size_t kLongestPoint = 12;  // a pair of surrogates
  constexpr std::size_t kRoom = kLongestPoint + 5;
  const std::size_t limit = out.size() + max_bytes - std::min(max_bytes, kRoom);
  out += '"';
  while (!text.empty()) {
    if (out.size() > limit) {
      out += "...";
      break;
    }
    const Decoded decoded = decode(text);
    append_point(out, decoded.point);
    text.remove_prefix(decoded.bytes);
  }
  out += '"';
}

}  // namespace holdfast::internal
