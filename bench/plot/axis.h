// Axis: values to places on a line, evenly or by their logarithm.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace holdfast::bench {

class Axis {
 public:
  // From `low` to `high` on `from`…`to`. Logarithmic: low > 0.
  Axis(double low, double high, double from, double to, bool logarithmic)
      : logarithmic_(logarithmic), from_(from), to_(to), low_(of(low)), high_(of(high)) {}

  double place(double value) const {
    const double share = (of(value) - low_) / (high_ - low_);
    return from_ + std::clamp(share, 0.0, 1.0) * (to_ - from_);
  }

  // Round values for the lines of a grid, about four of them.
  std::vector<double> ticks() const { return logarithmic_ ? powers() : steps(); }

 private:
  double of(double value) const { return logarithmic_ ? std::log10(value) : value; }

  std::vector<double> powers() const {
    std::vector<double> all;
    for (int power = static_cast<int>(std::ceil(low_ - 1e-9)); power <= high_ + 1e-9; ++power) {
      all.push_back(std::pow(10, power));
    }
    return all;
  }

  std::vector<double> steps() const {
    double step = std::pow(10, std::floor(std::log10(high_ - low_)));
    if ((high_ - low_) / step < 2) step /= 4;
    if ((high_ - low_) / step < 4) step /= 2;
    std::vector<double> all;
    for (double value = std::ceil(low_ / step) * step; value <= high_ * (1 + 1e-9); value += step) {
      all.push_back(value);
    }
    return all;
  }

  bool logarithmic_;
  double from_, to_, low_, high_;
};

}  // namespace holdfast::bench
