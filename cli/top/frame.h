// Frame: one picture of the screen, as rows of cells. Pure values; Painter brings them to a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "top/glyphs.h"

namespace holdfast::cli::top {

enum class Colour : std::uint8_t { none, red, green, yellow, cyan };

struct Style {
  Colour colour = Colour::none;
  bool bold = false;
  bool dim = false;
  bool reverse = false;

  friend bool operator==(const Style&, const Style&) = default;
};

struct Cell {
  std::string text = " ";  // empty: covered by the wide character to the left
  bool sure = true;        // see Glyph
  Style style{};

  friend bool operator==(const Cell&, const Cell&) = default;
};

enum class Align { left, right };

// A row of so many columns, at first blank. Nothing that is put into it leaves its columns.
class Line {
 public:
  Line(int columns, Charset charset);

  // Shows any bytes in the columns from `from`, at most `width` of them; text that is longer is cut, and ends with a
  // mark that says so. Returns the column behind it.
  int put(int from, int width, std::string_view text, Style style = {}, Align align = Align::left);
  // The same up to the end of the line.
  int put(int from, std::string_view text, Style style = {}) {
    return put(from, columns() - from, text, style);
  }
  // A bar of `width` columns of which `full` (0 to 1) are filled.
  void bar(int from, int width, double full, Style style);

  int columns() const { return static_cast<int>(cells_.size()); }
  const std::vector<Cell>& cells() const { return cells_; }
  // The whole row in the colours of what is selected.
  void highlight();
  // For tests, and for those who have no cursor: without blanks at its end.
  std::string text() const;

  friend bool operator==(const Line&, const Line&) = default;

 private:
  int place(int column, const Glyph& glyph, Style style);

  Charset charset_;
  std::vector<Cell> cells_;
};

struct Size {
  int columns = 80;
  int rows = 24;

  friend bool operator==(const Size&, const Size&) = default;
};

struct Frame {
  Size size;
  std::vector<Line> lines;  // so many as there are rows
  struct Cursor {
    int column = 0;
    int row = 0;
  };
  std::optional<Cursor> cursor;  // where something is typed
};

}  // namespace holdfast::cli::top
