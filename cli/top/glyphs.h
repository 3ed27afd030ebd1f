// Glyphs: text as a terminal shows it, character by character, with the columns that each takes. Pure.
//
// Terminals disagree about some characters. So Painter moves the cursor by itself after each that is not `sure`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli::top {

enum class Charset { ascii, utf8 };

// 0: it is drawn over the character before it; 2: East Asian and emoji.
int columns_of(char32_t point);

struct Glyph {
  std::string text;  // with what is drawn over it
  int columns = 1;   // 1 or 2
  bool sure = true;  // every terminal takes it for so wide
};

// Takes the glyphs off any bytes, one after the other. Bytes that are not printable() come as \xNN; in ascii, other
// characters come as \u{1F512}.
class Glyphs {
 public:
  // No more than the first kilobyte or so is looked at: no line is that long.
  Glyphs(std::string_view bytes, Charset charset);
  std::optional<Glyph> next();

 private:
  std::string text_;
  std::size_t at_ = 0;
};

// Whether the locale that these variables name has UTF-8: the terminal is asked nothing, and the locale need not be
// installed on this machine. Null: not set.
Charset charset_of(const char* lc_all, const char* lc_ctype, const char* lang);

}  // namespace holdfast::cli::top
