// Mark: how often something happened over all schedules of a run. A run in which a fault never bit
// has tested nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace holdfast::lab::sim {

struct Mark {
  const char* name = "";
  std::uint64_t count = 0;
};
using Marks = std::vector<Mark>;

}  // namespace holdfast::lab::sim
