// The options of `holdfast top`.
#pragma once

#include <chrono>

#include "top/rows.h"

namespace holdfast::cli::top {

struct Settings {
  Choice choice{};
  std::chrono::milliseconds interval{1000};
  bool read_only = false;
  // Of looks that are printed; zero: without end.
  unsigned long count = 0;
};

}  // namespace holdfast::cli::top
