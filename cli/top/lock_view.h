// One lock: its holders, its waiters in order, and what happened to it since this program began. Only the lines that
// are on the screen are made.
#pragma once

#include "top/view.h"

namespace holdfast::cli::top {

// At most `rows` lines.
std::vector<Line> lock_lines(Browser& browser, const Canvas& canvas, std::size_t rows);

}  // namespace holdfast::cli::top
