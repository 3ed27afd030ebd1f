// Pairs: every two faults together. Three clients want the lock again and again; A has it when the
// first fault begins, the second begins while the first lasts, then both are undone, and a newcomer
// must get the lock.
//
//   A holds ─┬─ fault 1 ──────────────┬─ heal ─ turns ─ a newcomer asks
//   B, C wait└────── ¼ ttl ─ fault 2 ─┘
//
// A fault that hits a client hits A; a second one hits B, which is next in the queue.
#pragma once

#include <vector>

#include "lab/torture/fault.h"
#include "lab/torture/scenario.h"

namespace holdfast::lab {

// All pairs of these faults, or of all if none is chosen; each a scenario, "pause+silent".
std::vector<Scenario> pairs_of(const std::vector<const Fault*>& chosen);

}  // namespace holdfast::lab
