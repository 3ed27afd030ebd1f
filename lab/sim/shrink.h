// Shrinking: the fewest faults, and the shortest, that still lead to a violation.
#pragma once

#include <functional>

#include "lab/sim/decisions.h"

namespace holdfast::lab::sim {

// `fails` says whether a schedule with only these decisions still shows the violation. It does with
// the first `decisions` of them. Calls it at most `budget` times.
Selection shrink(std::size_t decisions, const std::function<bool(const Selection&)>& fails,
                 int budget = 400);

}  // namespace holdfast::lab::sim
