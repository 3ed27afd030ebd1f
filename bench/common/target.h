// Target: what one of our figures has to reach, by itself or as a ratio to another client's.
#pragma once

#include <string>
#include <utility>

namespace holdfast::bench {

struct Target {
  enum class Side { at_least, at_most };
  Side side;
  double limit;
  // The client that ours is divided by, in the same repetition; kBestPeer: the best of the peers in
  // each. Empty: a limit for the figure itself.
  std::string of = {};

  bool met(double value) const { return side == Side::at_least ? value >= limit : value <= limit; }
};
inline constexpr const char* kBestPeer = "best peer";

inline Target at_least(double limit, std::string of = {}) {
  return {Target::Side::at_least, limit, std::move(of)};
}
inline Target at_most(double limit, std::string of = {}) {
  return {Target::Side::at_most, limit, std::move(of)};
}

}  // namespace holdfast::bench
