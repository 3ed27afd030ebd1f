// Mutants: the mistakes of the literature, each put into an otherwise right world. A laboratory that
// does not catch every one of them proves nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lab/sim/workload.h"

namespace holdfast::lab::sim {

struct Mutant {
  std::unique_ptr<Workload> workload;  // named "mutant/NAME"
  const char* mistake = "";
};

const std::vector<Mutant>& mutants();
// Null if there is none of this name ("mutant/…").
const Workload* find_mutant(const std::string& name);

// Enough schedules to catch any of them, many times over.
inline constexpr std::uint64_t kMutantSchedules = 400'000;

}  // namespace holdfast::lab::sim
