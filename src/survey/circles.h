// Circles: stuck owners that wait for each other, each for all others by way of some. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "survey/stuck.h"

namespace holdfast::internal {

inline constexpr std::uint32_t kNoCircle = UINT32_MAX;

struct Circles {
  std::vector<std::uint32_t> of_owner;  // by owner: its circle, or kNoCircle
  std::vector<std::size_t> behind;  // by circle: how many owners outside of any circle wait for it
  std::size_t count() const { return behind.size(); }
};

// `stuck` is what stuck_owners() said for this reading; `left_out` the same as there.
Circles find_circles(const Lines& all, Reading reading, const std::vector<bool>& stuck);

// Walks along one line and knows at each entry whether the claims before it that are stuck keep it from being granted,
// and which modes do. Used where a graph is made of a line and where it is told.
class StuckBefore {
 public:
  explicit StuckBefore(const Line& line) : line_(line) {}

  // REQUIRES: called for each stuck entry, in order.
  void pass(std::uint32_t position);
  // Whether stuck entries of mode `other` keep a wait of `mode` at `position` from being granted. REQUIRES: asked
  // before entries after `position` are passed.
  bool blocks(Mode other, Mode mode) const;

 private:
  const Line& line_;
  std::uint32_t by_mode_[kModes] = {};
};

}  // namespace holdfast::internal
