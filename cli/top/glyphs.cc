#include "top/glyphs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "holdfast/text.h"

namespace holdfast::cli::top {
namespace {

struct Points {
  char32_t first;
  char32_t last;
};

// Marks, and the vowels and finals of conjoining Hangul. Those that are not here are given a column of their own, which
// shifts nothing: see Painter.
constexpr std::array<Points, 32> kZero{{
    {0x0300, 0x036F}, {0x0483, 0x0489},   {0x0591, 0x05BD}, {0x05BF, 0x05C7}, {0x0610, 0x061A},
    {0x064B, 0x065F}, {0x0670, 0x0670},   {0x06D6, 0x06DC}, {0x06DF, 0x06ED}, {0x0711, 0x0711},
    {0x0730, 0x074A}, {0x07A6, 0x07B0},   {0x0816, 0x082D}, {0x0859, 0x085B}, {0x08D3, 0x0902},
    {0x093C, 0x093C}, {0x0941, 0x0948},   {0x094D, 0x094D}, {0x0951, 0x0957}, {0x09BC, 0x09BC},
    {0x0E31, 0x0E31}, {0x0E34, 0x0E3A},   {0x0E47, 0x0E4E}, {0x1160, 0x11FF}, {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF},   {0x302A, 0x302D}, {0x3099, 0x309A}, {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
}};

// East_Asian_Width W and F of Unicode 15, neighbours joined where what is between them is not assigned.
constexpr std::array<Points, 60> kTwo{{
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
    {0x23F0, 0x23F0},   {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},
    {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x26CE, 0x26CE},
    {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},
    {0x26FA, 0x26FA},   {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2728},   {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27B0, 0x27B0},   {0x27BF, 0x27BF},
    {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x303E},
    {0x3041, 0x3247},   {0x3250, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},
    {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18AFF}, {0x1AFF0, 0x1B2FF},
    {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A},
    {0x1F200, 0x1F320}, {0x1F32D, 0x1F5FF}, {0x1F600, 0x1F64F}, {0x1F680, 0x1F6FF},
    {0x1F7E0, 0x1F7F0}, {0x1F90C, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
}};

template <std::size_t N>
bool among(const std::array<Points, N>& all, char32_t point) {
  const auto at = std::ranges::lower_bound(all, point, {}, &Points::last);
  return at != all.end() && at->first <= point;
}

// Latin, and what we draw ourselves.
bool is_sure(char32_t point) {
  return point < 0x300 || point == 0x2026 || point == 0x2588 || point == 0x2591;
}

// They ask for another picture of the same character, which some terminals draw wider.
bool is_selector(char32_t point) {
  return (point >= 0xFE00 && point <= 0xFE0F) || point >= 0xE0100;
}

constexpr std::size_t kMostBytes = 1024;
// More only smear over the lines above and below.
constexpr std::size_t kMostMarks = 3;

// REQUIRES: valid UTF-8 at `at`.
char32_t decode(const std::string& text, std::size_t at, std::size_t& size) {
  const auto lead = static_cast<unsigned char>(text[at]);
  size = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  char32_t point = size == 1 ? lead : lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size && at + i < text.size(); ++i)
    point = point << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  return point;
}

std::string in_ascii(const std::string& text) {
  std::string ascii;
  for (std::size_t at = 0, size = 0; at < text.size(); at += size) {
    const char32_t point = decode(text, at, size);
    char escape[16];
    std::snprintf(escape, sizeof escape, "\\u{%X}", static_cast<unsigned>(point));
    ascii += size == 1 ? std::string(1, text[at]) : escape;
  }
  return ascii;
}

}  // namespace

int columns_of(char32_t point) {
  if (point < 0x300) return 1;
  return among(kZero, point) ? 0 : among(kTwo, point) ? 2 : 1;
}

Glyphs::Glyphs(std::string_view bytes, Charset charset) : text_(printable(bytes, kMostBytes)) {
  if (charset == Charset::ascii) text_ = in_ascii(text_);
}

std::optional<Glyph> Glyphs::next() {
  if (at_ >= text_.size()) return std::nullopt;
  std::size_t size = 0;
  char32_t point = decode(text_, at_, size);
  Glyph glyph;
  // A mark with nothing to be drawn over gets a blank.
  if (columns_of(point) == 0) {
    glyph.text = " ";
  } else {
    glyph = {text_.substr(at_, size), columns_of(point), is_sure(point)};
    at_ += size;
  }
  for (std::size_t marks = 0; at_ < text_.size(); at_ += size) {
    point = decode(text_, at_, size);
    if (columns_of(point) != 0) break;
    if (is_selector(point) || ++marks > kMostMarks) continue;
    glyph.text += text_.substr(at_, size);
    glyph.sure = false;
  }
  return glyph;
}

Charset charset_of(const char* lc_all, const char* lc_ctype, const char* lang) {
  for (const char* variable : {lc_all, lc_ctype, lang}) {
    if (!variable || !*variable) continue;
    std::string name = variable;
    std::erase(name, '-');
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name.find("utf8") != std::string::npos ? Charset::utf8 : Charset::ascii;
  }
  return Charset::ascii;
}

}  // namespace holdfast::cli::top
