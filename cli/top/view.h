// View: what a Browser shows, as a Frame of any size. Pure, but that it tells the browser how many rows fit.
//
//   title            how many locks, order, filter            (from 5 rows on)
//   troubles         engines that do not answer, deadlocks
//   list or lock     list_view.h, lock_view.h
//   keys, or what is asked, or what was told                  (from 3 rows on)
#pragma once

#include "top/browser.h"
#include "top/frame.h"

namespace holdfast::cli::top {

struct Canvas {
  Size size;
  Charset charset = Charset::utf8;
  long long now_ms = 0;  // wall clock

  Line line() const { return {size.columns, charset}; }
};

Frame draw(Browser& browser, const Canvas& canvas);

}  // namespace holdfast::cli::top
