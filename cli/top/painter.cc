#include "top/painter.h"

#include <algorithm>

namespace holdfast::cli::top {
namespace {

std::string move_to(int row, int column) {
  return "\x1b[" + std::to_string(row + 1) + ';' + std::to_string(column + 1) + 'H';
}

bool all_sure(const Line& line) { return std::ranges::all_of(line.cells(), &Cell::sure); }

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::red: return ";31";
    case Colour::green: return ";32";
    case Colour::yellow: return ";33";
    case Colour::cyan: return ";36";
    case Colour::none: break;
  }
  return "";
}

}  // namespace

std::string Painter::style_text(const Style& style) const {
  std::string text = "\x1b[0";
  if (style.bold) text += ";1";
  if (style.dim && colour_) text += ";2";
  if (style.reverse) text += ";7";
  if (colour_) text += code_of(style.colour);
  return text + 'm';
}

void Painter::write_cells(std::string& out, int row, const Line& line, std::size_t from,
                          std::size_t to) const {
  out += move_to(row, static_cast<int>(from));
  Style style;
  bool unsure = false;
  for (std::size_t i = from; i < to; ++i) {
    const Cell& cell = line.cells()[i];
    if (cell.text.empty()) continue;
    if (unsure) out += move_to(row, static_cast<int>(i));
    if (cell.style != style) out += style_text(cell.style);
    style = cell.style;
    out += cell.text;
    unsure = !cell.sure;
  }
  if (style != Style()) out += "\x1b[0m";
}

void Painter::paint_row(std::string& out, int row, const Line& line) const {
  const auto& cells = line.cells();
  const Line& old = shown_.lines[static_cast<std::size_t>(row)];
  if (line == old) return;
  // Where nobody knows what a terminal has drawn, everything is drawn anew.
  if (!all_sure(line) || !all_sure(old)) {
    out += move_to(row, 0) + "\x1b[2K";
    return write_cells(out, row, line, 0, cells.size());
  }
  const auto [begin, ignored] = std::ranges::mismatch(cells, old.cells());
  const auto [end, also_ignored] =
      std::mismatch(cells.rbegin(), cells.rend(), old.cells().rbegin());
  write_cells(out, row, line, static_cast<std::size_t>(begin - cells.begin()),
              cells.size() - static_cast<std::size_t>(end - cells.rbegin()));
}

std::string Painter::paint(const Frame& frame) {
  std::string out = "\x1b[?25l";
  if (!known_ || frame.size != shown_.size) {
    out += "\x1b[0m\x1b[2J";
    for (std::size_t row = 0; row < frame.lines.size(); ++row)
      write_cells(out, static_cast<int>(row), frame.lines[row], 0, frame.lines[row].cells().size());
  } else {
    for (std::size_t row = 0; row < frame.lines.size(); ++row)
      paint_row(out, static_cast<int>(row), frame.lines[row]);
  }
  if (frame.cursor) out += move_to(frame.cursor->row, frame.cursor->column) + "\x1b[?25h";
  shown_ = frame;
  known_ = true;
  return out;
}

}  // namespace holdfast::cli::top
