// Painter: brings one frame after the other to a terminal, and sends only what has changed.
//
// Plain ECMA-48 that every terminal of the last decades understands; nothing is asked of the terminal, so one that does
// not answer is no matter.
#pragma once

#include <string>

#include "top/frame.h"

namespace holdfast::cli::top {

class Painter {
 public:
  // False: bold and reverse at most (NO_COLOR, monochrome terminals).
  explicit Painter(bool colour) : colour_(colour) {}

  // The bytes to write so that the terminal, which shows the frame before, shows this one.
  std::string paint(const Frame& frame);
  // Nothing is known of the screen any more: the next frame is written as a whole.
  void forget() { known_ = false; }

 private:
  void paint_row(std::string& out, int row, const Line& line) const;
  void write_cells(std::string& out, int row, const Line& line, std::size_t from,
                   std::size_t to) const;
  std::string style_text(const Style& style) const;

  const bool colour_;
  bool known_ = false;
  Frame shown_;
};

}  // namespace holdfast::cli::top
