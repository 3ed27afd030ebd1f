// The list of locks, one row each. Only the rows that are on the screen are made.
#pragma once

#include "top/view.h"

namespace holdfast::cli::top {

// At most `rows` lines: the titles of the columns (from 4 rows on), and the locks.
std::vector<Line> list_lines(Browser& browser, const Canvas& canvas, std::size_t rows);

}  // namespace holdfast::cli::top
