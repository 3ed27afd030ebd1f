// Bar: what a figure has to reach.
#pragma once

namespace holdfast::bench {

struct Bar {
  enum class Side { at_least, at_most };
  Side side;
  double limit;

  bool passed(double value) const {
    return side == Side::at_least ? value >= limit : value <= limit;
  }
};

}  // namespace holdfast::bench
