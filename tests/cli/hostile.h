// The strings that the tests plant wherever a stranger can choose a text, and what no output may
// have in it then.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

// Printable, but with a meaning to shells, HTML, JSON or printf. Where one is evaluated, a file
// "bait" appears in the working directory.
inline const std::vector<std::string> kMeaningful = {
    "$(>bait)",
    "`>bait`",
    "a;>bait",
    "a&&>bait",
    "a|tee bait",
    "x=$(>bait)",
    "b:$(>bait)",
    "'; >bait; '",
    "\"; >bait; \"",
    "sp ace",
    "q'uote",
    "dq\"uote",
    "back\\slash",
    "star*",
    "=ls",
    "a:b=c@d",
    "&|<>(){}[]!#",
    "!!",
    "%s%n%1$s",
    "$'x'",
    "{a,b}",
    "$HOME",
    "h\u00e9\u20ac\U0001F512",
    "<script>alert(1)</script>",
    "]]><img src=x onerror=alert(1)>",
    "a\\x1B",
};

// Bytes that act on a terminal, hide or reorder text, end a line, or are no text at all.
inline const std::vector<std::string> kUnprintable = {
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[31mred",
    "\xc2\x9b"
    "31m",  // the same by a C1 control
    "bell\x07",
    "line\nholdfast: forged",
    "back\rforged",
    "bs\b\b\b",
    "del\x7f",
    "tab\there",
    "bidi\u202egpj.exe",
    "isolate\u2066x\u2069",
    "zero\u200bwidth\u200d\ufeff",
    "line\u2028separator",
    "nel\u0085",
    "tag\U000E0041",
    "\xff\xfe\x80",
    "cut\xe2\x82",
    "over\xc0\xaflong",
    "sur\xed\xa0\x80rogate",
};

inline std::vector<std::string> all_hostile() {
  std::vector<std::string> all = kMeaningful;
  all.insert(all.end(), kUnprintable.begin(), kUnprintable.end());
  all.insert(all.end(), {"-rf", "--on=sqlite:///x", "~root"});
  return all;
}

// Lines of UTF-8 without a character that acts on a terminal or changes how others are read.
// Written apart from the code that it judges.
inline bool is_harmless(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t n) {
      return i + n < text.size() ? static_cast<unsigned char>(text[i + n]) : 0U;
    };
    if (at(0) < 0x80) {
      if (at(0) != '\n' && (at(0) < 0x20 || at(0) == 0x7F)) return false;
      ++i;
      continue;
    }
    const std::size_t size = at(0) >= 0xF0 ? 4 : at(0) >= 0xE0 ? 3 : 2;
    std::uint32_t point = at(0) & (0xFFU >> (size + 1));
    for (std::size_t n = 1; n < size; ++n) {
      if ((at(n) & 0xC0U) != 0x80U) return false;
      point = point << 6U | (at(n) & 0x3FU);
    }
    if (at(0) < 0xC2 || point < 0xA0 || (size == 3 && point < 0x800)) return false;
    if (point >= 0xD800 && point <= 0xDFFF) return false;
    for (const std::uint32_t sly : {0xADU,   0x61CU,  0x200BU, 0x200CU, 0x200DU, 0x200EU, 0x200FU,
                                    0x2028U, 0x2029U, 0x202AU, 0x202BU, 0x202CU, 0x202DU, 0x202EU,
                                    0x2066U, 0x2067U, 0x2068U, 0x2069U, 0xFEFFU, 0xE0041U}) {
      if (point == sly) return false;
    }
    i += size;
  }
  return true;
}

inline bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

}  // namespace holdfast::test
