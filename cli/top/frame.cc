#include "top/frame.h"

#include <algorithm>
#include <cmath>

namespace holdfast::cli::top {
namespace {

constexpr const char* kCutMark = "\u2026";

}  // namespace

Line::Line(int columns, Charset charset)
    : charset_(charset), cells_(static_cast<std::size_t>(std::max(0, columns))) {}

int Line::place(int column, const Glyph& glyph, Style style) {
  const auto at = static_cast<std::size_t>(column);
  cells_[at] = {glyph.text, glyph.sure, style};
  if (glyph.columns == 2) cells_[at + 1] = {"", glyph.sure, style};
  return column + glyph.columns;
}

int Line::put(int from, int width, std::string_view text, Style style, Align align) {
  width = std::min(width, columns() - from);
  if (from < 0 || width <= 0) return from;
  std::vector<Glyph> shown;
  int used = 0;
  bool cut = false;
  Glyphs glyphs(text, charset_);
  while (std::optional<Glyph> glyph = glyphs.next()) {
    cut = used + glyph->columns > width;
    if (cut) break;
    used += glyph->columns;
    shown.push_back(std::move(*glyph));
  }
  if (cut) {
    while (!shown.empty() && used + 1 > width) {
      used -= shown.back().columns;
      shown.pop_back();
    }
    shown.push_back({charset_ == Charset::utf8 ? kCutMark : "~", 1, true});
    ++used;
  }
  int column = align == Align::right ? from + width - used : from;
  for (const Glyph& glyph : shown) column = place(column, glyph, style);
  return column;
}

void Line::bar(int from, int width, double full, Style style) {
  const bool utf8 = charset_ == Charset::utf8;
  // Something is left until nothing is.
  const int filled =
      full > 0 ? std::clamp(static_cast<int>(std::lround(full * width)), 1, width) : 0;
  for (int i = 0; i < width && from + i < columns(); ++i) {
    const bool on = i < filled;
    const char* text = utf8 ? (on ? "\u2588" : "\u2591") : (on ? "#" : ".");
    place(from + i, {text, 1, true}, style);
  }
}

void Line::highlight() {
  for (Cell& cell : cells_) cell.style = {.bold = cell.style.bold, .reverse = true};
}

std::string Line::text() const {
  std::string text;
  for (const Cell& cell : cells_) text += cell.text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace holdfast::cli::top
